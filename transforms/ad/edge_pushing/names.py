"""The name of the pass, which is in the locations of what it makes."""

NAME = "edge-pushing"
