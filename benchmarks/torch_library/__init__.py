"""Models of PyTorch's libraries."""
