"""Rewrites before differentiation: ops without a derivative rule of their own, in terms of ops that have one."""
