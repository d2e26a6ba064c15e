"""Which arrays of an explanation have which axes."""

ERRORS = ("standard_errors", "background_errors")
BY_PLAYER = ("values", *ERRORS)
# `others` is beside them: it is None in most.
BY_OUTPUT = (*BY_PLAYER, "base_values", "predictions", "others")
BY_ROW = (*BY_OUTPUT, "n_evaluations", "n_model_rows", "converged")
