"""The forward sweep, which makes the primal, coefficient and linear ops of a derivative, and forward mode, which puts them in one function."""
