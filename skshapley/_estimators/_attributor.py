"""What the estimators of tables share: the record of attributions, and the transformer."""

from abc import abstractmethod

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from skshapley._tables._inputs import as_pandas
from skshapley.explanation import Explanation


class TableEstimator(MetaEstimatorMixin, BaseEstimator):
    """Base class of estimators that explain a table's rows; fitted, they have ``players_``."""

    @property
    @abstractmethod
    def _output_names(self):
        """Labels of the explained outputs, or None for a single one."""

    def _recorded(self, outcome, X, settings) -> Explanation:
        """Return an outcome of the engine as the record that users see."""
        names = self._output_names

        def shaped(array):
            return array[..., 0] if names is None else array

        errors = shaped(outcome.standard_errors)
        return Explanation(
            values=shaped(outcome.values),
            standard_errors=None if np.isnan(errors).all() else errors,
            base_values=shaped(outcome.v_empty),
            predictions=shaped(outcome.v_full),
            data=self.players_.table(as_pandas(X)),
            feature_names=self.players_.names,
            output_names=None if names is None else np.array(names, dtype=object),
            n_evaluations=outcome.n_evaluations,
            n_model_rows=outcome.n_model_rows,
            converged=outcome.converged,
            settings=settings,
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


class Attributor(TransformerMixin, TableEstimator):
    """Base class of explainers: what each player adds to the response, row by row."""

    @abstractmethod
    def explain(self, X) -> Explanation:
        """Return the explanation of the rows of X."""

    def transform(self, X):
        """Return the attributions of X as a table, for pipelines.

        Parameters
        ----------
        X : array or frame of shape (r, d)

        Returns
        -------
        attributions : ndarray of shape (r, p), or (r, p k) with the outputs of a player side by
        side
        """
        values = self.explain(X).values
        return np.array(values.reshape(len(values), -1))

    def get_feature_names_out(self, input_features=None):
        """Return the names of the columns of `transform`: players, or player_output.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self, "players_")
        names = list(self.players_.names)
        if self._output_names is not None:
            names = [f"{name}_{output}" for name in names for output in self._output_names]
        return np.array(names, dtype=object)
