"""What users get back: results, importances, and their exchange with other packages."""
