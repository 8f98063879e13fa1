"""What people start from a shell."""
