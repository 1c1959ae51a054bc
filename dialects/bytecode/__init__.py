"""The bytecode of dialects: encodings of attributes and types, and the order of properties."""
