"""Products whose results are much larger than their operands, such as those of attention, in tiles of rows: relations, clusters, bodies, and the pass."""
