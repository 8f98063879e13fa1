"""Shell commands."""
