"""Commands that find what is wrong: over a corpus, in a pass, in a small program."""
