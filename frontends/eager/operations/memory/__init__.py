"""Tensors over memory that others share: views, layouts, and changes in place."""
