"""Conversions of explanations and interactions from and to shap and shapiq."""

from typing import Any

import numpy as np
import pandas as pd

from skshapley._records._outcome import Settings
from skshapley._tools import needed

# shapiq's names of the indices of pairs
NAMES = {
    "shapley": "k-SII",
    "banzhaf": "BII",
    "faithful-shapley": "FSII",
    "faithful-banzhaf": "FBII",
    "shapley-taylor": "STII",
}


def to_shap(explanation: Any) -> Any:
    """Return a shap.Explanation; see `Explanation.to_shap`."""
    shap = needed("shap", "Explanation.to_shap")
    names = explanation.output_names
    data = explanation.data
    return shap.Explanation(
        values=np.array(explanation.values),
        base_values=np.array(explanation.base_values),
        data=np.column_stack(
            [_as_numbers(data.iloc[:, j]) for j in range(data.shape[1])]
        ),
        display_data=data.to_numpy(dtype=object),
        feature_names=[str(name) for name in explanation.feature_names],
        output_names=None if names is None else [str(name) for name in names],
    )


def parts_of_shap(theirs: Any) -> dict:
    """Return the parts of an Explanation with the numbers of a `shap.Explanation`."""
    owner = "Explanation.from_shap"
    if not hasattr(theirs, "base_values"):
        raise TypeError(
            f"{owner} takes a shap.Explanation, got {type(theirs).__name__}: call "
            f"shap's explainer as a function, {owner}(explainer(X))."
        )
    values = np.asarray(theirs.values)
    if values.ndim == 1 or (values.ndim == 2 and np.ndim(theirs.data) == 1):
        values = values[None]  # one row
    names = theirs.feature_names
    if values.ndim not in (2, 3) or values.dtype == object or isinstance(names, str):
        raise ValueError(
            f"{owner} takes attributions of all features, the same for each row, of "
            "shape (p,), (r, p) or (r, p, k); got values of shape "
            f"{np.shape(theirs.values)} of features {names!r}."
        )
    ends = values.shape[:1] + values.shape[2:]
    base = np.asarray(
        np.nan if theirs.base_values is None else theirs.base_values,
        dtype=float,
    )
    try:
        # shap has one base value for all rows, one for each output, or one for each row
        # and output.
        base = (
            base.reshape(ends)
            if base.size == np.prod(ends)
            else np.broadcast_to(base, ends)
        )
    except ValueError:
        base = np.full(ends, np.nan)
    if np.isnan(base).any():
        raise ValueError(
            f"{owner} needs a base value for each of {ends[0]} rows and each output; "
            f"got base_values={theirs.base_values!r}."
        )
    # In slices without such data, they are an array of None.
    tables = [data for data in (theirs.display_data, theirs.data) if np.ndim(data)]
    table = _table(tables[0] if tables else None, names, values.shape[:2], owner)
    outputs = theirs.output_names
    single = values.ndim == 2
    if not single:
        outputs = np.array(
            range(values.shape[2]) if outputs is None else outputs,
            dtype=object,
        )
    values = np.asarray(values, dtype=float)
    unknown = np.full(len(values), np.nan)
    return {
        "values": values,
        "standard_errors": None,
        "base_values": base,
        "predictions": base + np.sum(values, axis=1),
        "data": table,
        "feature_names": table.columns.to_numpy(dtype=object),
        "output_names": None if single else outputs,
        "n_evaluations": unknown,
        "n_model_rows": unknown,
        "converged": np.zeros(len(values), dtype=bool),
        "settings": Settings(
            source="shap",
            output=outputs if isinstance(outputs, str) else None,
        ),
    }


def to_shapiq(
    record: Any,
    index: str,
    players: np.ndarray | None,
    budgets: Any = None,
) -> list:
    """Return shapiq's InteractionValues of each row.

    Parameters
    ----------
    record : Explanation or Interactions
        Interactions include values of pairs.
    index : str
        shapiq's name of the index.
    players : ndarray of shape (r, p), or None
        Values of players. None: only pairs.
    budgets : sequence of int or None, default=None
        Evaluations of each row.
    """
    owner = f"{type(record).__name__}.to_shapiq"
    shapiq = needed("shapiq", owner)
    if record.output_names is not None:
        raise ValueError(
            f"{owner} takes one output; choose it by .output(name), one of"
            f" {record.output_names.tolist()}."
        )
    p = len(record.feature_names)
    order = record.values.ndim - 1
    errors = record.standard_errors
    pairs = np.array(np.triu_indices(p, 1)).T
    results = []
    for row, base in enumerate(record.base_values.tolist()):
        values: dict[tuple[int, ...], float] = {}
        if players is not None:
            values = {
                (): base,
                **{(j,): value for j, value in enumerate(players[row].tolist())},
            }
        if order == 2:
            values |= {
                (i, j): float(record.values[row, i, j]) for i, j in pairs.tolist()
            }
        results.append(
            shapiq.InteractionValues(
                values=values,
                index=index,
                min_order=2 if players is None else 0,
                max_order=order,
                n_players=p,
                estimated=errors is None or bool(errors[row].any()),
                estimation_budget=None if budgets is None else budgets[row],
                baseline_value=base,
            ),
        )
    return results


def _table(data: Any, names: Any, shape: tuple[int, int], owner: str) -> pd.DataFrame:
    """Return the rows to explain as a frame with the players' names, ``(r, p)``."""
    if names is None:
        names = (
            data.columns
            if hasattr(data, "columns")
            else [f"x{j}" for j in range(shape[1])]
        )
    if len(names) != shape[1]:
        raise ValueError(
            f"{owner} needs a name for each of {shape[1]} features; got {len(names)}."
        )
    if data is None:
        # displays omit None, unlike NaN
        return pd.DataFrame(np.full(shape, None, dtype=object), columns=list(names))
    if np.size(data) != np.prod(shape):
        raise ValueError(
            f"{owner} needs data of shape {shape}; got shape {np.shape(data)}."
        )
    if not isinstance(data, pd.DataFrame):
        data = pd.DataFrame(np.reshape(np.asarray(data), shape)).infer_objects()
    return data.set_axis(list(names), axis=1)


def _as_numbers(column: pd.Series) -> np.ndarray:
    """Return a column as floats; other values become ranks."""
    if pd.api.types.is_numeric_dtype(column):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    plain = (
        column.astype(str).where(column.notna()) if column.dtype == object else column
    )
    codes = pd.factorize(plain, sort=True)[0]
    return np.where(codes < 0, np.nan, codes)
