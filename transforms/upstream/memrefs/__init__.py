"""``memrefs-to-values``: buffers as tensors that are threaded through.

Every root buffer (an argument, an allocation, a global) is a tensor, and a store makes a new one. A view of it (``subview``, ``cast``,
``expand_shape``, ...) is resolved statically to its root: loads and stores act on the root, so that views may overlap. Loops carry what is written in
them, branches return it, and a function returns the final contents of those of its arguments that it writes. Arguments are taken not to overlap. A
buffer that is chosen at run time, carried, or held in another one is refused by name and place.
"""
