"""The array namespace beside the standard's text: each function at once, traced and with gradients, over dtypes, shapes and special values."""
