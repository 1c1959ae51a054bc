"""Linear programs: linearization makes them, transposition reverses them, joining puts them behind the primal. The three are reverse mode."""
