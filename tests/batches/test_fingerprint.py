"""A run can only be resumed with the same model, background and data."""

import pickle
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
import sklearn
from sklearn.ensemble import RandomForestRegressor
from sklearn.neighbors import KNeighborsRegressor

from skshapley import ShapleyExplainer, TreeExplainer
from skshapley._tools._params import unaddressed
from skshapley.batches import explain_batches
from skshapley.batches._fingerprint import code_digest, described
from skshapley.exceptions import BatchError

from .conftest import NAMES, contents, fitted, model

# --- tables ---------------------------------------------------------------------------


def test_lists_in_cells_belong_to_the_fingerprint(tmp_path):
    def explainer(words):
        table = pd.DataFrame({"a": [1.0, 2.0], "words": [["x"], words]})
        function = partial(pd.DataFrame.apply, func=length, axis=1)
        return ShapleyExplainer(function).fit(table), table

    first, table = explainer(["x", "y"])
    dataset = explain_batches(first, table, tmp_path / "out", verbose=False)
    assert (dataset.read().values == first.explain(table).values).all()
    assert explain_batches(first, table, tmp_path / "out", verbose=False).finished
    with pytest.raises(FileExistsError, match="background"):
        explain_batches(explainer(["x", "z"])[0], table, tmp_path / "out")


def length(row):
    return row["a"] * len(row["words"])


# --- models that differ in one leaf ---------------------------------------------------


@pytest.fixture(scope="module")
def rows(table):
    """Rows; the last three lie far from the others and from the background."""
    rows = table[NAMES].copy()
    rows.iloc[-3:, :] += 100.0
    return rows


def forest(rows, add):
    """A forest, with something added to the leaf that only the last rows reach."""
    made = RandomForestRegressor(3, random_state=0).fit(rows, rows["a"] * rows["b"])
    for tree in made.estimators_:
        leaves = tree.apply(rows.to_numpy(dtype=np.float32))
        theirs = set(leaves[-3:]) - set(leaves[:-3])
        assert theirs
        tree.tree_.value[list(theirs)] += add
    return made


def predicted(X, model):
    return model.predict(X)


AS = {
    "forest": lambda model: model,
    "method": lambda model: model.predict,
    "function": lambda model: lambda X: 1.0 * model.predict(X),
    "partial": lambda model: partial(predicted, model=model),
}


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(
            name, marks=[pytest.mark.slow] * (name not in ("forest", "function"))
        )
        for name in AS
    ],
)
def test_models_that_differ_in_the_last_rows_only(kind, rows, background, tmp_path):
    before, same, after = (
        fitted(background, model=AS[kind](forest(rows, x))) for x in (0, 0, 1)
    )
    np.testing.assert_array_equal(
        after.explain(rows[:20]).values, before.explain(rows[:20]).values
    )
    explain_batches(before, rows, tmp_path, batch_rows=5)
    whole = contents(tmp_path)
    with pytest.raises(
        FileExistsError, match=r"model's (code was|answers at rows 20 to 24 have)"
    ):
        explain_batches(after, rows, tmp_path, batch_rows=5)
    assert contents(tmp_path) == whole
    explain_batches(same, rows, tmp_path, batch_rows=5)
    assert contents(tmp_path) == whole


class Service:
    """A model that adds something far away from the background, or says nothing at all."""

    def __init__(self, add=0.0):
        self.add, self.silent = add, False

    def __call__(self, X):
        if self.silent or np.isnan(X).any(axis=None):
            raise ConnectionError("no answer")
        return model(X) + self.add * (X["a"] > 50)


def test_predictions_of_each_piece_of_a_batch_are_compared(rows, background, tmp_path):
    """Pieces as evaluated after a bad row, and the whole batch without one."""
    source = rows.copy()
    source.iloc[22, 0] = np.nan
    arguments = dict(batch_rows=5, on_error="skip")
    before, after = (fitted(background, model=Service(add)) for add in (0.0, 1e-9))
    with pytest.warns(UserWarning, match="set 1 rows aside"):
        explain_batches(before, source, tmp_path, **arguments)
    whole = contents(tmp_path)
    with pytest.raises(
        FileExistsError, match=r"model's answers at rows 20 to 24 have changed"
    ):
        explain_batches(after, source, tmp_path, **arguments)
    assert contents(tmp_path) == whole


@pytest.mark.filterwarnings("ignore:explain_batches set .* rows aside")
def test_models_that_raise_on_resume(rows, background, tmp_path):
    """Its predictions on probes are known; the first rows of the source make it fail."""
    explainer = fitted(background, model=Service())
    explain_batches(explainer, rows, tmp_path, batch_rows=5)
    whole, game = contents(tmp_path), type(explainer.reward_).game

    def fails(self, X):
        explainer.estimator.silent = X is not None and len(X) == 5
        return game(self, X)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(type(explainer.reward_), "game", fails)
        with pytest.raises(
            BatchError, match="cannot explain rows 0 to 4: ConnectionError: no answer"
        ):
            explain_batches(explainer, rows, tmp_path, batch_rows=5)
        explain_batches(explainer, rows, tmp_path, batch_rows=5, on_error="skip")
    assert contents(tmp_path) == whole


def test_predictions_of_mixed_rows_distinguish_models(background, table, tmp_path):
    """Two functions that agree on every background row and have no state."""
    alike = background.assign(b=background["a"])

    def explain(add):
        explainer = fitted(alike, model=lambda X: model(X) + add * (X["a"] != X["b"]))
        explain_batches(explainer, table, tmp_path)

    explain(0.0)
    explain(0.0)
    with pytest.raises(FileExistsError, match="explainer"):
        explain(1e-9)


# --- functions ------------------------------------------------------------------------


def capped(most):
    """Return a model for each cap; all predict the same for the background and small rows."""

    def answer(X):
        return np.minimum(model(X), most)

    return answer


def test_closures_are_distinguished_by_their_constants(table, background, tmp_path):
    """A rebuilt part holds values of the model of the other parts."""
    before, same, after = (
        fitted(background, model=capped(most)) for most in (1e6, 1e6, 2e6)
    )
    explain_batches(before, table, tmp_path, batch_rows=5)
    whole = contents(tmp_path)
    (tmp_path / "part-00000000.parquet").unlink()
    with pytest.raises(FileExistsError, match="model's code was"):
        explain_batches(after, table, tmp_path, batch_rows=5)
    explain_batches(same, table, tmp_path, batch_rows=5)
    assert contents(tmp_path) == whole


FACTOR = np.arange(3.0)


def uses(factor, text="return X @ FACTOR"):
    """Return a function as a script defines it, with a global."""
    space = {"FACTOR": factor}
    exec(f"def use(X, k=1):\n    {text}", space)
    return space["use"]


FUNCTIONS = {
    "code": (uses(FACTOR), uses(FACTOR, "return X @ -FACTOR")),
    "a constant": (uses(FACTOR, "return 2 * X"), uses(FACTOR, "return 3 * X")),
    "a constant of an inner function": (
        uses(FACTOR, "return (lambda: 2 * X)()"),
        uses(FACTOR, "return (lambda: 3 * X)()"),
    ),
    "a global": (uses(FACTOR), uses(FACTOR + 1)),
    "a default": (lambda X, k=2: k * X, lambda X, k=3: k * X),
    "a keyword": (partial(predicted, model=2), partial(predicted, model=3)),
    "a function that it calls": (uses(capped(1)), uses(capped(2))),
}


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_different_functions_have_different_hashes(kind):
    one, other = map(code_digest, FUNCTIONS[kind])
    assert None not in (one, other)
    assert one != other


def test_equal_functions_have_equal_hashes():
    def recursive(X):
        return recursive(X[1:]) if len(X) else 0

    assert code_digest(capped(1)) == code_digest(capped(1))
    assert code_digest(uses(FACTOR)) == code_digest(uses(FACTOR.copy()))
    assert code_digest(uses({"b": FACTOR, "a": 1})) == code_digest(
        uses({"a": 1, "b": FACTOR})
    )
    assert code_digest(recursive) is not None
    # nothing but its answers is known of an object
    assert code_digest(uses(Service(1))) == code_digest(uses(Service(2)))
    assert code_digest(Service()) is code_digest(KNeighborsRegressor()) is None


def test_stateful_functions_are_identified_by_their_predictions(
    table, background, tmp_path
):
    calls = []

    def counted(X):
        calls.append(len(X))
        return model(X)

    for _ in range(2):
        dataset = explain_batches(fitted(background, model=counted), table, tmp_path)
        assert dataset.manifest["explainer"]["model's code"] is None


def test_fingerprint_texts_do_not_depend_on_the_process():
    assert unaddressed(f"{model} {Service()}").count("0x") == 0
    letters = "qwertyuiopasdfgh"  # whose set has an order of its own in each process
    assert (
        described(set(letters))
        == f"set({[repr(letter) for letter in sorted(letters)]})"
    )


# --- background, settings, data -------------------------------------------------------


def weighted(kind, background, weights):
    if kind == "trees":
        made = RandomForestRegressor(3, random_state=0).fit(background, background["a"])
        return TreeExplainer(made).fit(background, sample_weight=weights)
    explainer = ShapleyExplainer(
        model, sampler="antithetic", max_rows=18 * 6 + 1, random_state=7
    )
    return explainer.fit(background, sample_weight=weights)


def test_trees_of_named_columns_resume_in_another_process(table, background, tmp_path):
    """A pickled copy has other objects for the names, unless they have one letter."""
    names = {name: f"column {name}" for name in NAMES}
    X = background.rename(columns=names)
    forest = RandomForestRegressor(3, random_state=0).fit(X, X["column a"])
    explainer = ShapleyExplainer(forest, random_state=0).fit(X)
    for same in (explainer, pickle.loads(pickle.dumps(explainer))):
        explain_batches(same, table.rename(columns=names), tmp_path)


@pytest.mark.parametrize("kind", ["sampled", "trees"])
def test_different_background_weights_are_refused(kind, table, background, tmp_path):
    weights = np.arange(1.0, 7.0)
    explain_batches(weighted(kind, background, weights), table, tmp_path)
    with pytest.raises(FileExistsError, match=r"explainer\.background was"):
        explain_batches(weighted(kind, background, weights[::-1]), table, tmp_path)
    explain_batches(
        weighted(kind, background, 2 * weights), table, tmp_path
    )  # sum 1 all the same


@pytest.mark.parametrize("kind", ["sampled", "trees"])
def test_a_different_working_memory_is_refused(kind, table, background, tmp_path):
    """The working memory determines the blocks of a call and the tables that are kept."""
    explain_batches(weighted(kind, background, None), table, tmp_path)
    with (
        sklearn.config_context(working_memory=16),
        pytest.raises(FileExistsError, match="working_memory was 1024 and is 16"),
    ):
        explain_batches(weighted(kind, background, None), table, tmp_path)


def parquet_files(table, folder, lacking):
    folder.mkdir()
    for number, start in enumerate(range(0, 25, 10)):
        piece = table[start : start + 10].drop(columns=lacking if number == 1 else [])
        piece.to_parquet(folder / f"{number}.parquet", index=False)
    return folder


@pytest.mark.parametrize("lacking", ["b", "key"])
def test_files_with_different_columns_are_refused(lacking, table, explainer, tmp_path):
    """Missing columns would be read as missing values; nothing is computed."""
    source = parquet_files(table, tmp_path / "rows", [lacking])
    for rows in (source, ds.dataset(source)):
        with pytest.raises(
            ValueError,
            match=rf"columns \['{lacking}'\], .* or one of its files, lacks them",
        ):
            explain_batches(explainer, rows, tmp_path / "phi", keys="key")
    assert not (tmp_path / "phi").exists()


def test_hive_partition_columns_are_read(table, background, tmp_path):
    folder = tmp_path / "rows"
    for day, piece in table.assign(day=table.index // 10).groupby("day"):
        (folder / f"day={day}").mkdir(parents=True)
        piece.drop(columns="day").to_parquet(
            folder / f"day={day}" / "a.parquet", index=False
        )
    explainer = fitted(background)
    dataset = explain_batches(explainer, folder, tmp_path / "phi", keys=["day", "key"])
    assert len(dataset) == 25


def test_an_arrow_table_in_memory_has_its_columns(table, explainer):
    with pytest.raises(ValueError, match=r"columns \['c'\]"):
        explain_batches(explainer, pa.Table.from_pandas(table.drop(columns="c")))
