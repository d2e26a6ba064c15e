"""Tables of any size, explained a batch at a time and kept on disk."""

from skshapley.batches._dataset import ExplanationDataset
from skshapley.batches._run import explain_batches

__all__ = ["ExplanationDataset", "explain_batches"]
