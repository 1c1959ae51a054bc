"""Commands that look into programs, derivatives and runs of them."""
