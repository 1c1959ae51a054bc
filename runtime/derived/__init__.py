"""Programs that are made of a program: its forms as IR, derivatives, Jacobians, batches."""
