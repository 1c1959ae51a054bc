"""The tape as IR."""
