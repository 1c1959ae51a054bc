"""The cost of communication: what each algorithm of a collective sends, and how a program scales with the number of ranks."""
