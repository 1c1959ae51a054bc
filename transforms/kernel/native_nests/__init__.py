"""Nests for ops that have code of their own on a CPU and none on other targets: the pass ``natives-to-nests``, and a file for each family of ops."""
