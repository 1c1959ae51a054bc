"""Where ops come from: locations as they are written, fused ones, and those that grow."""
