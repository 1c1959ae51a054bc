"""Provenance of ops: the check that none is lost, and explanations of where they come from and what became of them."""
