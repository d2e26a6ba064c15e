"""The estimators that users import from the root."""
