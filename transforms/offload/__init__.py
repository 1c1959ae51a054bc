"""Kept values of reverse derivatives outside of the arena between their uses."""
