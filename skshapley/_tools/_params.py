"""The one resolver of "a name or an object" parameters, and their text for the record."""

from collections.abc import Mapping

from sklearn.base import BaseEstimator, clone


def resolve(value, *, registry: Mapping[str, type], base: type, owner: str, parameter: str):
    """Return a fresh object for a name of `registry`, or a clone of an instance of `base`.

    Parameters
    ----------
    value : str or instance of `base`
    registry : mapping of str to class
        The choices that the error lists.
    base : type
    owner, parameter : str
        Whose parameter it is, for the error.

    Returns
    -------
    component : instance of `base`

    Raises
    ------
    ValueError
        For a name that the registry does not have.
    TypeError
        For a class instead of an instance, or any other object.
    """
    choices = ", ".join(repr(name) for name in sorted(registry))
    if isinstance(value, str):
        if value not in registry:
            raise ValueError(
                f"{owner} has no {parameter} named {value!r}: choose one of {choices},"
                f" or pass an instance of {base.__name__}."
            )
        return registry[value]()
    if isinstance(value, base):
        return clone(value) if isinstance(value, BaseEstimator) else value
    hint = f"; write {value.__name__}()" if isinstance(value, type) else ""
    raise TypeError(
        f"{owner} takes {parameter} as one of {choices}, or an instance of {base.__name__};"
        f" got {value!r}{hint}."
    )


def described(component) -> str:
    """Return the repr of an object, made so that nothing of it lives on.

    For a class without an ``__init__``, scikit-learn's repr has `inspect` parse the text signature
    of ``object``, and what that leaves lives in cycles until the collector comes.
    """
    if isinstance(component, BaseEstimator) and type(component).__init__ is object.__init__:
        return f"{type(component).__name__}()"
    return repr(component)
