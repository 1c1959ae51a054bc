"""Programs on many devices: what a device can ask of an engine, the engines (threads, MPI), and programs that run on them."""
