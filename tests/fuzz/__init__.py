"""Random StableHLO programs and what must be true of each: generator, checks, pool of processes, reducer.

PYTHONPATH=tests python -m fuzz --minutes 5
"""
