"""The readers of fitted models, by library and class."""

from collections.abc import Mapping
from typing import Any

from skshapley._tools._params import installed
from skshapley._trees import TREE_MODELS
from skshapley._trees._read import class_names
from skshapley.closed_forms import (
    _interpret,
    _pygam,
    _sklearn_kernels,
    _sklearn_linear,
    _sklearn_sums,
    _sksurv,
)
from skshapley.closed_forms._base import ClosedForm
from skshapley.closed_forms._linear_leaves import read_lightgbm_model
from skshapley.closed_forms._sums import Reader, Sum
from skshapley.closed_forms._trees import read_tree_model
from skshapley.closed_forms._xgboost import read_xgboost
from skshapley.exceptions import UnreadableModelError

# Library -> class -> reader. A class that is derived from one of these is read the same
# way.
_LIBRARIES: dict[str, Mapping[str, Reader]] = {
    "sklearn": _sklearn_linear.READERS
    | _sklearn_kernels.READERS
    | _sklearn_sums.READERS,
    "imblearn": {"Pipeline": _sklearn_sums.of_pipeline},
    "xgboost": {"XGBModel": read_xgboost},
    "lightgbm": dict.fromkeys(("Booster", "LGBMModel"), read_lightgbm_model),
    "interpret": _interpret.READERS,
    "pygam": _pygam.READERS,
    "sksurv": _sksurv.READERS,
}
# "library.Class" -> reader
READERS: dict[str, Reader] = dict.fromkeys(TREE_MODELS, read_tree_model) | {
    f"{library}.{name}": reader
    for library, readers in _LIBRARIES.items()
    for name, reader in readers.items()
}


def read_model(model: Any, method: Any) -> ClosedForm:
    """Read a fitted model as a closed form.

    Parameters
    ----------
    model : fitted estimator
    method : str
        The method that returns the response, such as "predict", or "log_odds".

    Returns
    -------
    form : ClosedForm
        With one output for each column that the method returns.

    Raises
    ------
    UnreadableModelError
        If no reader knows the model, or its response cannot be read.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> from skshapley.closed_forms import read_model
    >>> X, y = load_diabetes(return_X_y=True)
    >>> read_model(Ridge().fit(X, y), "predict").label
    'linear terms'
    """
    # Most derived class first: a reader of a subclass wins over that of its parent.
    for name, kind in class_names(model).items():
        # Own readers come first, so that an installed package cannot replace them by
        # accident.
        reader = READERS.get(name)
        if reader is None and name in installed("readers"):
            reader = installed("readers")[name].load()
        if reader is not None:
            _check_own(model, method, kind, name)
            found = reader(model, method, read_model)
            return Sum(found) if isinstance(found, list) else found
    raise UnreadableModelError(
        f"{type(model).__name__}.{method} has no closed form here"
    )


def _check_own(model: Any, method: Any, read: type, name: str) -> None:
    """Raise an error for a derived class that overrides the response."""
    # `log_odds` is no method of a model: it is computed from either of these two.
    asked = (
        ("predict_proba", "decision_function") if method == "log_odds" else (method,)
    )
    for kind in type(model).__mro__:
        if kind is read:
            return
        own = next((response for response in asked if response in vars(kind)), None)
        if (
            own is not None
            and kind.__module__.partition(".")[0] != name.partition(".")[0]
        ):
            raise UnreadableModelError(
                f"{kind.__name__} overrides {own} of {read.__name__}"
            )
