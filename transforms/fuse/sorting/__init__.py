"""Sorting as nests: networks of comparisons, sort by any comparator, and the first elements of an order."""
