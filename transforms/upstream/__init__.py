"""From upstream MLIR's dialects to StableHLO: ``from-upstream``, and the passes that it is made of.

.. code-block:: text

    inline --> lower-affine --> memrefs-to-values --> scalars-to-tensors --> values-to-stablehlo

Affine loops become ``scf`` and ``arith``; buffers become tensors that are threaded through; scalars at the function's boundary become tensors of rank
0; then every op becomes StableHLO in one walk (:mod:`wengert.transforms.upstream.convert`). Each of these passes runs alone, and what it leaves is a
program.
"""
