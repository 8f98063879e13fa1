"""Special functions: of Bessel, gamma, beta and error functions, integrals, and orthogonal polynomials."""
