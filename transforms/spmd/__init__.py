"""Programs for many devices: which values are the same on which devices, and what follows from it."""
