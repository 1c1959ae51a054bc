"""Colourings of sparse matrices: which columns, rows, or both can be computed in one direction of a derivative."""
