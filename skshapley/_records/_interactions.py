"""The frozen record of interactions of pairs of players, beside their attributions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pandas as pd

from skshapley._records._importance import errors_of, flat, long_frame, mean_sizes
from skshapley._records._interchange import NAMES, to_shapiq
from skshapley._records._outcome import Frozen, Outcome, changed, joined
from skshapley._tools import counted

_BY_OUTPUT = ("values", "standard_errors", "attributions", "base_values")


@dataclass(frozen=True, eq=False, repr=False)
class Interactions(Frozen):
    """Interactions of all pairs of p players, of r rows, with their standard errors.

    The interaction of two players is the amount that they add together beyond their
    separate contributions, on average over coalitions of the others: the mean of v(S +
    i + j) - v(S + i) - v(S + j) + v(S). The index defines the average.

    Attributes
    ----------
    values : ndarray of shape (r, p, p) or (r, p, p, k)
        The index of each pair, in the units of the response; symmetric, and 0 on the
        diagonal.
    standard_errors : ndarray of the same shape, or None
        None if the method has none; NaN if a row has too few units.
    attributions : ndarray of shape (r, p) or (r, p, k)
        The total value of each player, as in the explanation.
    base_values : ndarray of shape (r,) or (r, k)
        v(empty).
    feature_names : ndarray of shape (p,)
    index : str
        The index of pairs: a name of `skshapley.indices.PAIR_INDICES`.
    rows : pandas Index of length r
        The index of the explained rows.
    output_names : ndarray of shape (k,), or None

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley import ShapleyExplainer
    >>> explainer = ShapleyExplainer(
    ...     lambda X: X[:, 0] * X[:, 1] + X[:, 2], interactions=True
    ... )
    >>> explanation = explainer.fit(np.zeros((1, 3))).explain(np.ones((1, 3)))
    >>> explanation.interactions.matrix(0).round(3) + 0.0
    array([[0. , 0.5, 0. ],
           [0.5, 0. , 0. ],
           [0. , 0. , 1. ]])
    >>> explanation.interactions.strongest(1)
       row feature other  value  standard_error
    0    0      x0    x1    1.0             0.0
    """

    values: np.ndarray
    standard_errors: np.ndarray | None
    attributions: np.ndarray
    base_values: np.ndarray
    feature_names: np.ndarray
    index: str
    rows: pd.Index
    output_names: np.ndarray | None = None

    @classmethod
    def of_pairs(
        cls,
        attributions: np.ndarray,
        pairs: np.ndarray,
        errors: np.ndarray,
        **others: Any,
    ) -> Self:
        """Return the record of numbers of pairs.

        Parameters
        ----------
        attributions : ndarray of shape (r, p) or (r, p, k)
        pairs, errors : ndarray of shape (r, p (p - 1)/2) or (r, p (p - 1)/2, k)
            In the order of ``np.triu_indices(p, 1)``. Errors are NaN if unknown.
        **others
            The other attributes.
        """
        p = attributions.shape[1]
        return cls(
            _square(pairs, p),
            None if errors.size and np.isnan(errors).all() else _square(errors, p),
            attributions,
            **others,
        )

    @classmethod
    def of_outcome(cls, outcome: Outcome, one_output: bool, **others: Any) -> Self:
        """Return the record of a run's entries.

        Parameters
        ----------
        outcome : Outcome
            Its entries are players, then pairs.
        one_output : bool
            Whether the record has no axis of outputs.
        **others
            The other attributes.
        """
        p = outcome.n_players
        outputs = 0 if one_output else slice(None)
        values, errors, base = (
            part[..., outputs]
            for part in (outcome.values, outcome.standard_errors, outcome.v_empty)
        )
        return cls.of_pairs(
            values[:, :p],
            values[:, p:],
            errors[:, p:],
            base_values=base,
            **others,
        )

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows) -> "Interactions":
        """Return some rows: an int (one row, still 3-D), slice, positions or a mask."""
        rows = [rows] if isinstance(rows, (int, np.integer)) else rows
        return replace(
            self,
            rows=self.rows[rows],
            **changed(self, _BY_OUTPUT, lambda part: part[rows]),
        )

    def output(self, name) -> "Interactions":
        """Return the interactions in one output of several.

        Parameters
        ----------
        name : label
            One of `output_names`.
        """
        names = [] if self.output_names is None else self.output_names.tolist()
        if name not in names:
            raise ValueError(
                f"Interactions has no output {name!r}: choose one of {names}."
            )
        return self.of_outputs(names.index(name))

    def of_outputs(self, places: Any) -> "Interactions":
        """Return the interactions in the outputs at some positions.

        Parameters
        ----------
        places : int or ndarray of int
            An int gives a record of a single output.
        """
        return replace(
            self,
            output_names=np.asarray(self.output_names)[places]
            if np.ndim(places)
            else None,
            **changed(self, _BY_OUTPUT, lambda part: part[..., places]),
        )

    @staticmethod
    def merge(records: Sequence["Interactions"]) -> "Interactions":
        """Return the rows of several records of one model as one record.

        Parameters
        ----------
        records : sequence of Interactions
            Of the same players, outputs and index.
        """
        first = records[0]
        for record in records[1:]:
            if record.index != first.index:
                raise ValueError(
                    f"Interactions.merge needs the same index; got {first.index!r} and"
                    f" {record.index!r}."
                )
        parts: dict[str, Any] = {name: joined(records, name) for name in _BY_OUTPUT}
        return replace(
            first,
            rows=first.rows.append([record.rows for record in records[1:]]),
            **parts,
        )

    @property
    def main_effects(self) -> np.ndarray:
        """The attributions without half of the interactions of each player, ``(r, p)``.

        With several outputs ``(r, p, k)``.
        """
        return self.attributions - self.values.sum(axis=2) / 2

    def matrix(self, row: int | None = None) -> np.ndarray:
        """Return interactions in the layout of shap: rows sum to the attributions.

        Entries off the diagonal are half of the interaction of the pair, because both
        players share it. Entries on the diagonal are main effects. Each row adds up to
        its player's attribution, and the matrix to the sum of the attributions.

        Parameters
        ----------
        row : int, default=None
            The position of a row. None: all rows.

        Returns
        -------
        matrix : ndarray of shape (p, p), (p, p, k), (r, p, p) or (r, p, p, k)
        """
        part = self if row is None else self[row]
        # shap gives half of an interaction to each of the two players.
        out = part.values / 2
        player = np.arange(out.shape[1])
        out[:, player, player] = part.main_effects
        return out if row is None else out[0]

    def to_frame(self) -> pd.DataFrame:
        """Return a frame with one line per row, output and pair.

        Returns
        -------
        frame : DataFrame
            With columns ``row, [output,] feature, other, value, standard_error``.
        """
        numbers = {
            "value": flat(of_pairs(self)),
            "standard_error": flat(of_pairs(self, "standard_errors")),
        }
        return long_frame(
            self.rows,
            self.output_names,
            names_of_pairs(self),
            numbers,
        )

    def strongest(self, n: int = 10) -> pd.DataFrame:
        """Return the `n` largest interactions of each row and output, by size.

        Parameters
        ----------
        n : int, default=10

        Returns
        -------
        frame : DataFrame
            Lines of `to_frame`, the largest of each row first.
        """
        frame = self.to_frame()
        p = len(self.feature_names)
        # the pairs of a row and output are consecutive
        shape = self.base_values.size, p * (p - 1) // 2
        sizes = frame["value"].abs().to_numpy().reshape(shape)
        order = np.argsort(-sizes, axis=1, kind="stable")[:, :n]
        lines = order + sizes.shape[1] * np.arange(len(order))[:, None]
        return frame.iloc[lines.ravel()].reset_index(drop=True)

    def importance(self) -> pd.DataFrame:
        """Return the mean absolute interaction of each pair, largest first, with its errors.

        Returns
        -------
        importance : DataFrame
            Index: output (if there are several), feature and other. The columns are
            those of `Explanation.importance`.
        """
        values = flat(of_pairs(self))
        # one line per output and pair, as for a single row
        lines = long_frame(
            pd.RangeIndex(1),
            self.output_names,
            names_of_pairs(self),
            {},
        )
        index = pd.MultiIndex.from_frame(lines.drop(columns="row").infer_objects())
        frame = mean_sizes(
            values,
            flat(of_pairs(self, "standard_errors")),
            np.full(values.shape, np.nan),
            np.full(len(index), np.nan),
            index,
        )
        return frame.sort_values("importance", ascending=False, kind="stable")

    def to_shapiq(self) -> list:
        """Return a second-order `shapiq.InteractionValues` for each row.

        Shapley interactions with their main effects are shapiq's "k-SII", which adds up
        to the prediction. For other indices, only pairs are returned.

        Raises
        ------
        ValueError
            If there are several outputs.
        """
        return to_shapiq(
            self,
            NAMES[self.index],
            self.main_effects if self.index == "shapley" else None,
        )

    def __repr__(self) -> str:
        r, p = self.values.shape[:2]
        outputs = (
            "" if self.output_names is None else f", {len(self.output_names)} outputs"
        )
        return (
            f"<Interactions: {counted(r, 'row')}, {counted(p, 'feature')}{outputs}; "
            f"index {self.index!r}>"
        )


def _square(pairs: np.ndarray, p: int) -> np.ndarray:
    """Return symmetric matrices of numbers of pairs, 0 on the diagonal, ``(r, p, p, ...)``."""
    out = np.zeros((len(pairs), p, p, *pairs.shape[2:]))
    first, second = np.triu_indices(p, 1)
    out[:, first, second] = out[:, second, first] = pairs
    return out


def of_pairs(record: Interactions, kind: str = "values") -> np.ndarray:
    """Return values, or errors, of each pair, ``(r, pairs)`` or ``(r, pairs, k)``."""
    first, second = np.triu_indices(len(record.feature_names), 1)
    return errors_of(record, kind)[:, first, second]


def names_of_pairs(record: Interactions) -> dict[str, np.ndarray]:
    """Return the names of the players of each pair."""
    places = np.triu_indices(len(record.feature_names), 1)
    names = (record.feature_names[place] for place in places)
    return dict(zip(("feature", "other"), names, strict=True))
