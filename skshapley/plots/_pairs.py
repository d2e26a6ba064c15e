"""What the displays of attributions show of the interactions, where an explanation has them."""

from dataclasses import replace

import numpy as np
import pandas as pd

from skshapley.explanation import Explanation
from skshapley.plots._common import errors_of
from skshapley.plots._partner import strongest_partner


def check_pairs(owner, explanation) -> None:
    """Refuse an explanation without interactions."""
    if explanation.interactions is None:
        raise ValueError(
            f"{owner} got an explanation without interactions: explain with interactions=True."
        )


def measured_partner(explanation, feature) -> str | None:
    """Return the name of the feature that another one interacts with most, or None.

    By the mean size of the measured interactions; where there are none, by `strongest_partner`.

    Parameters
    ----------
    explanation : Explanation
        Of one output.
    feature : int
        Position of the feature.
    """
    if explanation.interactions is None:
        return strongest_partner(explanation, feature)
    size = np.abs(explanation.interactions.values[:, feature]).mean(axis=0)
    return explanation.feature_names[size.argmax()] if size.any() else None


def interacting(explanation, features, partner) -> list[tuple[str, str]]:
    """Return features and their partners, whose interactions are to be drawn.

    Parameters
    ----------
    explanation : Explanation
        Of one output, with interactions.
    features : list of str, or None
        None: the two that interact most. One: followed by its partner.
    partner : str or None
        The name, or "auto" and None for the one that each interacts with most.
    """
    names, size = explanation.feature_names, explanation.interactions.values
    size = np.abs(size).mean(axis=0)
    np.fill_diagonal(size, -1.0)
    if features is None:
        features = [names[np.unravel_index(size.argmax(), size.shape)[0]]]
    chosen = partner not in (None, "auto")
    pairs = []
    for feature in features:
        column = names.tolist().index(feature)
        pairs.append((feature, partner if chosen else names[size[column].argmax()]))
    return pairs if len(pairs) > 1 else [*pairs, pairs[0][::-1]]


def of_interaction(explanation, feature, partner) -> Explanation:
    """Return an explanation whose attributions of a feature are its interactions with another.

    Parameters
    ----------
    explanation : Explanation
        Of one output, with interactions.
    feature, partner : int
    """
    found, values = explanation.interactions, explanation.values.copy()
    errors = errors_of(explanation).copy()
    values[:, feature] = found.values[:, feature, partner]
    errors[:, feature] = np.nan
    if found.standard_errors is not None:
        errors[:, feature] = found.standard_errors[:, feature, partner]
    return replace(explanation, values=values, standard_errors=errors, interactions=None)


def with_pairs(explanation, n) -> Explanation:
    """Return an explanation in which the strongest pairs of an instance are players of their own.

    Each of the two players gives half the interaction away, so that the sum stays. What is left to
    it has no standard error, since covariances are not on record.

    Parameters
    ----------
    explanation : Explanation
        Of one instance and one output, with interactions.
    n : int
    """
    found, names = explanation.interactions, explanation.feature_names
    first, second = np.triu_indices(len(names), 1)
    pairs = found.values[0, first, second]
    order = np.argsort(-np.abs(pairs), kind="stable")[:n]
    order = order[pairs[order] != 0]
    first, second, pairs = first[order], second[order], pairs[order]
    values, errors = explanation.values.copy(), errors_of(explanation).copy()
    for players in (first, second):
        np.subtract.at(values[0], players, pairs / 2)
        errors[:, players] = np.nan
    spread = np.full(len(order), np.nan)
    if found.standard_errors is not None:
        spread = found.standard_errors[0, first, second]
    joint = [f"{names[i]} × {names[j]}" for i, j in zip(first, second, strict=True)]
    data = pd.DataFrame({name: [None] for name in joint}, index=explanation.index, dtype=object)
    return replace(
        explanation,
        values=np.append(values, pairs[None], axis=1),
        standard_errors=np.append(errors, spread[None], axis=1),
        background_errors=None,
        data=pd.concat([explanation.data, data], axis=1),
        feature_names=np.append(names, np.array(joint, dtype=object)),
        interactions=None,
    )
