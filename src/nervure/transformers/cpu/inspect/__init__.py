"""Explanations of compiled functions: the report of a plan, the times of its steps and the limits of the machine."""
