"""Programs that derivative rules and adjoints are written with: matrix algebra, scans, products over groups."""
