"""Compare groups, models and periods: differences, their sizes and their significance."""

from skshapley.comparison._cohorts import find_cohorts
from skshapley.comparison._compare import Comparison, compare
from skshapley.comparison._drift import Drift, drift
from skshapley.comparison._refits import RefitComparison, compare_refits

__all__ = [
    "Comparison",
    "Drift",
    "RefitComparison",
    "compare",
    "compare_refits",
    "drift",
    "find_cohorts",
]
