"""Devices behind one small interface, and programs whose kernels run on them."""
