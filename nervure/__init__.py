"""nervure."""
