"""Updates at computed positions in forms that kernels can take: rows, gathers, orders, additions on tapes."""
