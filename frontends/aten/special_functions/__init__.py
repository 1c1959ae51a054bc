"""What ATen's special functions mean: Bessel functions, incomplete gamma functions, orthogonal polynomials and others."""
