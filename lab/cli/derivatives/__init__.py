"""Commands that run programs, and make and check their derivatives."""
