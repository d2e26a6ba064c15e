"""Compare groups, models and periods: differences, their sizes and their significance."""

from skshapley.comparison._cohorts import find_cohorts
from skshapley.comparison._compare import Comparison, compare
from skshapley.comparison._drift import Drift, drift

__all__ = ["Comparison", "Drift", "compare", "drift", "find_cohorts"]
