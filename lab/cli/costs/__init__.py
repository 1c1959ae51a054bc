"""Commands about what derivatives cost: counted, predicted, measured and recorded."""
