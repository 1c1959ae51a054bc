"""Every module of native kernels; importing this registers them all."""

# pyright: reportUnusedImport=false

from wengert.transforms.codegen.cpu.native import (  # noqa: F401
    cholesky,
    convolution,
    factored_systems,
    fourier,
    lu,
    qr,
    random_bits,
    reductions,
    scans,
    sorting,
    spectral,
    tapes,
    triangular,
    tridiagonal,
)
