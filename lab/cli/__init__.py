"""The command line: ``wengert COMMAND ...``, one module per command."""
