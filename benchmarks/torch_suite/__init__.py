"""PyTorch's own test files, run with its names renamed to ours."""
