"""Whole Jacobians: modes batched over a basis, and compressed ones."""
