"""Residuals: which values of the primal are stored for the linear part, and which are computed again."""
