"""Whole models: their training steps, the value of a loss and its gradients by all weights. A family is a file here, and one of its name in ``in_torch``."""
