"""Linear programs: linearization, transposition, and joining with the primal, which together are reverse mode."""
