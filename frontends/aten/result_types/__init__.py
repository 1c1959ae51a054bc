"""The types of results of ATen ops, from the types of their arguments, by PyTorch's rules."""
