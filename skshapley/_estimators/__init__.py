"""Public estimators, imported from the root of the package."""
