"""Compare groups, models and periods: differences, their sizes and their significance."""

from skshapley.comparison._compare import Comparison, compare, find_cohorts
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
