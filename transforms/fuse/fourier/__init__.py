"""Fourier transforms as ops on whole tensors, and what these share with those in machine code: roots of unity and butterflies."""
