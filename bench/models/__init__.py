"""Models whose whole training steps are measured, each with its loss and gradients in NumPy."""
