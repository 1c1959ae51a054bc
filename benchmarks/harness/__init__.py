"""Measures, compares with other systems, and reports."""
