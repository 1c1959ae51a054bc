"""MLIR bytecode: modules as bytes, read and written in the versions 0 to 6 that MLIR's page "MLIR Bytecode Format" describes."""
