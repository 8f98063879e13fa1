"""Signals and polynomials: convolutions of rows, Fourier transforms, and windows that fade them."""
