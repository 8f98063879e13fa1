"""Commands that are started from a shell."""
