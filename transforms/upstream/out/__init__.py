"""``to-linalg``: programs in StableHLO, derivatives among them, as upstream MLIR: ``linalg`` on tensors, ``scf``, ``arith``, ``math``, ``complex``,
``tensor``.

What comes out has no dialect that a plain ``mlir-opt`` does not know. Elementwise ops are ``arith`` and ``math`` on tensors (``complex`` ones a
``linalg.generic``), contractions and reductions a ``linalg.generic``, reads at computed positions a ``tensor.generate``, loops ``scf.while``, tapes tensors of
open extent.
Integers lose their sign to their ops.
"""
