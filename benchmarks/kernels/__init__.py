"""Benchmarks of single kernels: products, convolutions, functions of mathematics and the polynomials of these."""
