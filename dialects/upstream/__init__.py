"""Ops of upstream MLIR's dialects as they come in: ``arith``, ``math``, ``complex``, ``index``, ``tensor``, ``linalg``, ``scf``, ``affine``, ``memref``,
``bufferization``, ``cf``, and the requests of Enzyme and LAGrad.

Every op has one class, whose operands, results and regions are as many as its text has, and whose attributes bear the names of MLIR 22's properties. Both
forms of the text are read: the generic one by the parser, the custom one by the forms in this package. What an op means is said by
:mod:`wengert.transforms.upstream`; kernels for devices, which use some of these dialects too, keep xDSL's classes
(:func:`wengert.dialects.registry.is_upstream`).
"""

from wengert.dialects.upstream.context import UpstreamContext
from wengert.dialects.upstream.operation import UpstreamOp, upstream_class

__all__ = ["UpstreamContext", "UpstreamOp", "upstream_class"]
