"""Every module of native kernels; importing this registers them all."""

# pyright: reportUnusedImport=false

from wengert.transforms.codegen.cpu.native import random_bits, sorting, tapes, top_k  # noqa: F401
from wengert.transforms.codegen.cpu.native.convolution import as_product, winograd  # noqa: F401
from wengert.transforms.codegen.cpu.native.fourier import transforms  # noqa: F401
from wengert.transforms.codegen.cpu.native.linalg import cholesky, factored_systems, lu, qr, spectral, triangular, tridiagonal  # noqa: F401
from wengert.transforms.codegen.cpu.native.reductions import kernels, scans  # noqa: F401
