"""Sparse matrices, as ``scipy.sparse`` has them; its classes are generic in ways that say nothing here, so they are not typed."""

from __future__ import annotations

from typing import Any

import scipy.sparse

_sparse: Any = scipy.sparse

Pattern = Any
"""A ``scipy.sparse.csr_array`` of booleans; indices are sorted."""

csr_array: Any = _sparse.csr_array
csc_array: Any = _sparse.csc_array
vstack: Any = _sparse.vstack
