"""Inference from means over rows to more rows of their kind: intervals, ranks and tests."""
