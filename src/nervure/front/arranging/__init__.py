"""Functions that put elements in other places: views, indices, gathers, joints, grids, and found positions."""
