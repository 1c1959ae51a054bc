"""Meanings of ATen's special functions: Bessel functions, incomplete gamma functions, orthogonal polynomials and others."""
