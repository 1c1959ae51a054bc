"""The walk from upstream ops on values to StableHLO.

A :class:`~wengert.transforms.upstream.convert.converter.Converter` maps every value to a StableHLO value of static shape. Scalars are tensors of rank
0; in the body of a ``linalg.generic`` they are tensors of the shape of the iteration space, so that one handler for an op serves both. Arithmetic on
constants is evaluated, so that sizes that follow from the shapes of arguments are known.
"""
