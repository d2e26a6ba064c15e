"""Inference from means over rows to the population of these rows: intervals, ranks and tests."""
