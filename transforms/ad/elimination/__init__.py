"""Jacobians by elimination on the linearised graph: vertices, edges or faces, in any order, of scalars or of tensor blocks."""
