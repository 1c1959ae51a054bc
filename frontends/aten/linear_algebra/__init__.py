"""Meanings of ATen's products, factorisations, systems of equations and functions of matrices."""
