"""wengert: a laboratory for automatic differentiation on MLIR."""
