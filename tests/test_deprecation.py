"""Deprecations: whom they warn and what of, what goes on working, and when they are over."""

import inspect
import warnings
from importlib import import_module
from pkgutil import walk_packages

import pytest
from sklearn.base import BaseEstimator, clone

import skshapley
from skshapley._tools import _deprecation
from skshapley._tools._deprecation import DEPRECATIONS, Deprecation, deprecated, numbers, renamed

HOW = {"since": "0.3", "until": "0.5"}


@pytest.fixture(autouse=True)
def forgotten(monkeypatch):
    """What these tests deprecate is not the package's."""
    monkeypatch.setattr(_deprecation, "DEPRECATIONS", [])


def message(what, instead):
    return rf"^{what} is deprecated since 0\.3 and will be gone in 0\.5: {instead}\.$"


def test_a_function_works_and_warns_where_it_is_called():
    @deprecated("use new", **HOW)
    def old(a, b=2):
        """Add."""
        return a + b

    with pytest.warns(FutureWarning, match=message(r".*\.old", "use new")) as caught:
        assert old(1, b=5) == 6
    assert caught[0].filename == __file__
    assert (old.__doc__, list(inspect.signature(old).parameters)) == ("Add.", ["a", "b"])


def test_a_class_works_and_warns_when_it_is_made():
    @deprecated("use New", **HOW)
    class Old(BaseEstimator):
        def __init__(self, a=1):
            self.a = a

    with pytest.warns(FutureWarning, match=message(r".*\.Old", "use New")) as caught:
        made = Old(a=3)
    assert caught[0].filename == __file__
    assert isinstance(made, Old)
    assert made.get_params() == {"a": 3}


class Explainer(BaseEstimator):
    @renamed("n_evals", "max_rows", **HOW)
    def __init__(self, model, max_rows=10):
        self.model, self.max_rows = model, max_rows


def test_a_parameter_is_known_by_its_old_name():
    with pytest.warns(
        FutureWarning, match=message("Explainer's parameter n_evals", "use max_rows")
    ):
        made = Explainer("m", n_evals=7)
    assert made.get_params() == {"model": "m", "max_rows": 7}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert clone(made).max_rows == Explainer("m", 7).max_rows == 7
    with pytest.raises(TypeError, match="Explainer got both max_rows and n_evals, its old name"):
        Explainer("m", max_rows=1, n_evals=2)


@pytest.mark.parametrize("until", ["0.3", "0.4"])
def test_users_have_two_minor_releases(until):
    with pytest.raises(ValueError, match=r"f is deprecated .* give users 2 minor releases"):
        Deprecation("f", "use g", since="0.3", until=until)
    for later in ("0.5", "0.10", "1.0"):
        Deprecation("f", "use g", since="0.3", until=later)


def overdue(deprecations, version):
    """What a version should be without."""
    return [one.what for one in deprecations if numbers(version) >= numbers(one.until)]


def test_what_is_over_is_gone():
    for module in walk_packages(skshapley.__path__, "skshapley."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    assert not overdue(DEPRECATIONS, skshapley.__version__), "take these out"
    one = Deprecation("f", "use g", **HOW)
    assert [overdue([one], version) for version in ("0.4.9", "0.5.0", "1.0")] == [[], ["f"], ["f"]]
