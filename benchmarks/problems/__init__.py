"""Functions and programs that are measured, and how other systems write them."""
