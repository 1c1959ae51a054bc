"""Locations of ops: as they are written, fused ones, and those that grow."""
