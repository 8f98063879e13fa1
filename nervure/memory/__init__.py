"""Memory: what lies where, for how long, and where two may share a place."""
