"""The logit of probabilities that may be 0 or 1."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

# The distance of 1 to the next float: a smaller clip would not change 1 - tiny.
LEAST_PROBABILITY = float(np.finfo(np.float64).eps)


def clipped_logit(probabilities: Any) -> NDArray[np.float64]:
    """Return the logit; 0 and 1 give about -36 and 36."""
    probabilities = np.asarray(probabilities, dtype=np.float64)
    return logit(np.clip(probabilities, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY))
