"""Readers of real data."""
