"""What the displays read out of an Explanation, before anything is drawn."""

from dataclasses import replace
from numbers import Integral

import numpy as np
import pandas as pd

from skshapley.plots._text import UNEXPLAINED, shorten

# Half the width of a 95 % interval, in standard errors
HALF_WIDTH = 1.96
# What sums of attributions in single precision may be off, relative to their terms
ROUNDING = 1e-5

_RESPONSES = {
    "predict": "prediction",
    "predict_proba": "probability",
    "predict_log_proba": "log-probability",
    "decision_function": "decision value",
    "score_samples": "score",
    "log_odds": "log-odds",
}


def one_output(explanation, output):
    """Return the explanation of the output named, ``(r, p)``; None names the only one."""
    return explanation if output is None else explanation.output(output)


def one_row(explanation, row, owner):
    """Return the explanation of the instance at a position, ``(1, p)``; None is the only one."""
    if row is None:
        if len(explanation) != 1:
            raise ValueError(
                f"{owner} shows one instance, and the explanation has {len(explanation)}: pass row="
                " as the position of one."
            )
        return explanation
    if isinstance(row, bool) or not isinstance(row, Integral):
        raise TypeError(
            f"{owner} takes row as the position of an instance, an int; got {row!r}. For a label of"
            f" the index: row=explanation.index.get_loc(label)."
        )
    return explanation[int(row)]


def fold(explanation, max_features, owner, size=None):
    """Return the most important players first, and the others summed into one at the end.

    Parameters
    ----------
    explanation : Explanation
        Of one output.
    max_features : int or None
        Players to keep, the largest; None keeps all. A single one that would be left over is kept
        as well.
    owner : str
        Who asks.
    size : ndarray of shape (p,), default=None
        How large each player is; by default its mean absolute attribution.

    Returns
    -------
    folded : Explanation
        The sum of the others has no standard error: their covariances are not on record.
    """
    check_count(max_features, "max_features", owner)
    size = np.abs(explanation.values).mean(axis=0) if size is None else size
    order = np.argsort(-size, kind="stable")
    n_others = 0 if max_features is None else len(order) - max_features
    if n_others <= 1:
        return _players(explanation, order)
    kept = _players(explanation, order[:max_features])
    name = f"{n_others} other features"
    rest = explanation.values[:, order[max_features:]].sum(axis=1)
    errors = kept.standard_errors
    return replace(
        kept,
        values=np.column_stack([kept.values, rest]),
        standard_errors=None if errors is None else np.column_stack([errors, np.nan * rest]),
        data=pd.concat([kept.data, pd.DataFrame({name: None}, index=kept.index)], axis=1),
        feature_names=np.append(kept.feature_names, name),
    )


def closed(explanation):
    """Return attributions that lead from base values to predictions, for paths between the two.

    Estimates that need not add up, as those of marginal samplers, leave something: a last player
    of its own, where it is more than what rounding in single precision brings. It has no standard
    error, as covariances are not on record.
    """
    base, predictions = explanation.base_values, explanation.predictions
    gap = predictions - base - explanation.values.sum(axis=1)
    size = np.abs(explanation.values).sum(axis=1) + np.abs(base) + np.abs(predictions)
    if (np.abs(gap) <= ROUNDING * size).all():
        return explanation
    errors = explanation.standard_errors
    return replace(
        explanation,
        values=np.column_stack([explanation.values, gap]),
        standard_errors=None if errors is None else np.column_stack([errors, np.nan * gap]),
        data=explanation.data.assign(**{UNEXPLAINED: None}),
        feature_names=np.append(explanation.feature_names, UNEXPLAINED),
    )


def check_count(count, parameter, owner):
    """Refuse what is neither a positive int nor None."""
    whole = isinstance(count, Integral) and not isinstance(count, bool)
    if count is not None and not (whole and count >= 1):
        raise ValueError(
            f"{owner} takes {parameter} as a positive int, or None for all; got {count!r}."
        )


def _players(explanation, order):
    """Return some players of an explanation of one output, in an order."""
    errors = explanation.standard_errors
    return replace(
        explanation,
        values=explanation.values[:, order],
        standard_errors=None if errors is None else errors[:, order],
        data=explanation.data.iloc[:, order],
        feature_names=explanation.feature_names[order],
    )


def errors_of(explanation):
    """Return the standard errors, NaN where there are none; of the shape of the values."""
    if explanation.standard_errors is None:
        return np.full(explanation.values.shape, np.nan)
    return explanation.standard_errors


def response_name(explanation):
    """Return what the attributions are measured in, e.g. "probability of setosa"."""
    settings = explanation.settings
    if settings.loss is not None:
        return f"{settings.loss.replace('_', ' ')} saved"
    name = _RESPONSES.get(settings.response_method, "response")
    output = settings.output
    if output == "predicted":
        output = "the predicted class"
    return name if output is None else f"{name} of {shorten(output)}"


def parts_of_row(explanation, row, max_features, owner):
    """Return the table of one instance's largest attributions, both ends, and what is explained.

    The table has a line per feature: ``feature``, ``data``, ``value``, ``standard_error``; the ends
    are the base value and the prediction.
    """
    explanation = one_row(explanation, row, owner)
    shown = closed(fold(explanation, max_features, owner))
    table = pd.DataFrame(
        {
            "feature": shown.feature_names,
            "data": pd.Series(shown.data.iloc[0].tolist(), dtype=object),
            "value": shown.values[0],
            "standard_error": errors_of(shown)[0],
        }
    )
    base, prediction = float(explanation.base_values[0]), float(explanation.predictions[0])
    return table, base, prediction, response_name(explanation)


def levels(column):
    """Return each value's place between a column's low and high ones, in [0, 1].

    The 5th and 95th percentiles are the ends, so that one outlier does not make all others look
    alike. NaN where a value is missing, and throughout a column without an order.
    """
    numbers = ordered_numbers(column)
    known = numbers[np.isfinite(numbers)]
    if not len(known):
        return np.full(len(numbers), np.nan)
    low, high = np.quantile(known, [0.05, 0.95])
    if low == high:
        low, high = known.min(), known.max()
    if low == high:
        return np.where(np.isfinite(numbers), 0.5, np.nan)
    return np.clip((numbers - low) / (high - low), 0, 1)


def ordered_numbers(column):
    """Return a column as floats where it has an order, ``(r,)``; NaN where missing or without."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        codes = column.cat.codes.to_numpy(dtype=np.float64)
        return np.where(column.cat.ordered & (codes >= 0), codes, np.nan)
    if pd.api.types.is_datetime64_any_dtype(column) or pd.api.types.is_timedelta64_dtype(column):
        counts = column.astype("int64").to_numpy(dtype=np.float64)
        return np.where(column.isna(), np.nan, counts)
    if pd.api.types.is_numeric_dtype(column):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    if column.dtype == object:
        # A table of numbers and strings in one ndarray arrives as objects.
        numbers = pd.to_numeric(column, errors="coerce")
        if numbers.notna().sum() == column.notna().sum():
            return numbers.to_numpy(dtype=np.float64)
    return np.full(len(column), np.nan)
