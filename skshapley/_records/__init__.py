"""Records of results: explanations, importances, their files, and their exchange with others."""
