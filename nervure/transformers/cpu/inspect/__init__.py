"""What was compiled, explained: the report of a plan, times of its steps, limits of the machine."""
