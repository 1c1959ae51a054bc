"""The costs of compiled derivatives, next to JAX, in one run: ``python -m benchmarks``."""
