"""Displays: an Explanation as a picture, and the numbers of the picture as a frame."""

from skshapley.plots._bar import BarDisplay
from skshapley.plots._beeswarm import BeeswarmDisplay
from skshapley.plots._display import Display
from skshapley.plots._heat_map import HeatMapDisplay
from skshapley.plots._masking_curve import MaskingCurveDisplay
from skshapley.plots._sentence import SentenceDisplay
from skshapley.plots._waterfall import WaterfallDisplay

__all__ = [
    "BarDisplay",
    "BeeswarmDisplay",
    "Display",
    "HeatMapDisplay",
    "MaskingCurveDisplay",
    "SentenceDisplay",
    "WaterfallDisplay",
]
