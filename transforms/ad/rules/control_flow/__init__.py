"""Derivatives of ops that have a body: loops, branches, checkpoints, and the tapes that loops record on."""
