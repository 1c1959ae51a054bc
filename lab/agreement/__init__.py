"""Whether two results are the same program's: equal but for what rounding may do to it."""
