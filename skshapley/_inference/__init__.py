"""What means over rows say of more rows of their kind: intervals, ranks and tests."""
