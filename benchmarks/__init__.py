"""What compiled derivatives cost, next to JAX, in one run: ``python -m benchmarks``."""
