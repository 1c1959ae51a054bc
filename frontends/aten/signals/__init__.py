"""Meanings of ATen's transforms, grids and pooling of signals and images."""
