"""Portable artifacts: programs in VHLO, which later versions of StableHLO's tools read, and earlier ones where the program has nothing that they lack."""
