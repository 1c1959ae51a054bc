"""Measurements on a GPU, in one script that needs no network and at most ten minutes."""
