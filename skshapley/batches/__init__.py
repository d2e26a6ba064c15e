"""Explanations of tables of any size, batch by batch, stored on disk."""

from skshapley.batches._dataset import ExplanationDataset
from skshapley.batches._run import explain_batches

__all__ = ["ExplanationDataset", "explain_batches"]
