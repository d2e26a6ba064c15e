"""Records of results: explanations, importances, files, and conversions."""
