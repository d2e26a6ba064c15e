"""Checks of input tables, and their conversion to the container of the model's training data."""
