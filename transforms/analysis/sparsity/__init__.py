"""Finds which elements of values depend on which elements of the arguments: index sets, propagated through a function before any number is known."""
