"""Passes as values, pipelines of them as text, and what is seen of their runs: dumps, reproducers, changes, steps."""
