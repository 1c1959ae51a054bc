"""Where ops come from and what became of them: the check that nothing is lost, and explanations of ops."""
