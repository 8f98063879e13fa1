"""The interpreter: the reference for what every op means, over NumPy. Clarity over speed; views without copies."""
