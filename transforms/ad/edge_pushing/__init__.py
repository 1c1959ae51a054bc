"""Hessians by edge pushing: second derivatives collected on the linearised graph, each pair of variables once."""
