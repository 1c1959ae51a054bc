"""The models as one writes them in PyTorch: each file is the ``loss`` of the family of its name, with the weights in the same order."""
