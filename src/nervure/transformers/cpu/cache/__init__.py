"""Machine code that outlives its process: object files and compiled functions on disk, found by their sources."""
