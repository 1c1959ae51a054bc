"""The forward sweep, which emits the primal, coefficient and linear ops of a derivative, and forward mode."""
