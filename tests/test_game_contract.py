"""Every reward and game of the package keeps its contract.

A new reward of the registry is tested without a line here. EXEMPT lists exceptions with
their reasons, and every exemption is checked.
"""

import inspect
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from itertools import product
from pkgutil import walk_packages
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import get_scorer
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from xgboost import XGBRegressor

import skshapley
from benchmarks.couples import make_couples
from skshapley import GlobalImportance, ShapleyExplainer
from skshapley._tables._rows import RowPool
from skshapley.rewards import (
    REWARDS,
    CausalReward,
    DataGame,
    ForestReward,
    FunctionGame,
    Game,
    InterventionalReward,
    RefitReward,
    Reward,
    SurrogateReward,
    TokenReward,
)
from skshapley.rewards._loss import LossGame
from skshapley.rewards._refit import JointGame
from skshapley.rewards._tokens import TokenGame
from skshapley.testing import HybridGame, RandomGame, StackedGame
from skshapley.testing.contracts import CONTRACTS

GAME_CHECKS, _ = CONTRACTS["game"]
REWARD_CHECKS, _ = CONTRACTS["reward"]

EVERY_REWARD = {name: reward() for name, reward in REWARDS.items()}
# a single plug-in row of one's own
# of few trees, which are grown again in each check
FEW_TREES = HistGradientBoostingRegressor(
    max_iter=3, min_samples_leaf=2, random_state=0
)
EVERY_REWARD["surrogate"] = SurrogateReward(FEW_TREES)
EVERY_REWARD["forest"] = ForestReward(n_trees=2, min_samples_leaf=2)
EVERY_REWARD["causal"] = CausalReward([[1], [0, 3], [2]], [True, False, True])
EVERY_REWARD["causal, one component"] = CausalReward([[3, 1, 0, 2]])
EVERY_REWARD["interventional, link"] = REWARDS["interventional"](link=np.tanh)
EVERY_REWARD["conditional, link"] = REWARDS["conditional"](link=np.tanh)
EVERY_REWARD["baseline, given"] = REWARDS["baseline"]([0.0, -1.0, 2.0, 0.5])


EXEMPT_REWARDS: dict[str, dict[str, str]] = {
    "surrogate": {
        "groups": "it is trained on groups as they are hidden, and only on those",
        "order": "which rows are hidden how goes by their order",
    }
}
REWARD_CASES = [
    (r, c)
    for r, c in product(EVERY_REWARD, REWARD_CHECKS)
    if c not in EXEMPT_REWARDS.get(r, ())
]


def contracts(cases: list[tuple[str, str]]) -> Callable:
    """Parametrize a test by the name of a reward or game, and that of a check."""
    return pytest.mark.parametrize(("name", "check"), cases, ids=map("-".join, cases))


@contracts([case for case in REWARD_CASES if case[0] in REWARDS])
def test_reward(name: str, check: str) -> None:
    REWARD_CHECKS[check](EVERY_REWARD[name])


@pytest.mark.thinned
@contracts([case for case in REWARD_CASES if case[0] not in REWARDS])
def test_reward_with_other_parameters(name: str, check: str) -> None:
    REWARD_CHECKS[check](EVERY_REWARD[name])


@pytest.mark.parametrize(
    ("reward", "check"),
    [(r, check) for r, checks in EXEMPT_REWARDS.items() for check in checks],
)
def test_exemptions_of_rewards_are_needed(reward: str, check: str) -> None:
    with pytest.raises(AssertionError):
        REWARD_CHECKS[check](EVERY_REWARD[reward])


# --- games of the rewards, of tables and models of all kinds --------------------------

IRIS, SPECIES = load_iris(return_X_y=True)
NUMBERS, PROGRESS = load_diabetes(return_X_y=True)
PROGRESS = PROGRESS / 100
RNG = np.random.default_rng(0)
MIXED = pd.DataFrame(
    {
        "pay": np.where(RNG.random(80) < 0.2, np.nan, RNG.lognormal(size=80)),
        "city": RNG.choice(["Rome", "Oslo", "Bern"], 80),
        "kind": pd.Categorical(RNG.choice(list("uvw"), 80)),
        "rooms": pd.array(RNG.choice([1, 2, None], 80), dtype="Int64"),
        "owner": RNG.random(80) < 0.5,
    }
)
LABELS = np.digitize(MIXED["pay"].fillna(1) * (MIXED["city"] == "Oslo"), [0.5, 1.0])


def of_cells(table: Any) -> np.ndarray:
    """Two outputs of a frame with MIXED's columns, each cell as it comes."""
    pay, city, kind, rooms, owner = (
        np.asarray(table[name], dtype=object) for name in MIXED
    )
    pay, rooms = (
        pd.Series(part).astype("Float64").fillna(-1).to_numpy() for part in (pay, rooms)
    )
    worth = pay * (city == "Oslo") + rooms
    return np.column_stack([worth, (kind == "u") * rooms - owner.astype(float)]).astype(
        float
    )


def of_objects(table: np.ndarray) -> np.ndarray:
    return (table[:, 1] == "Oslo") * (table[:, 2] == "u") + table[:, 4].astype(float)


def one_hot(sparse: bool) -> Any:
    """A pipeline with a columnwise first step, and a linear model."""
    columns = make_column_transformer(
        (
            OneHotEncoder(handle_unknown="ignore", sparse_output=sparse),
            ["city", "kind"],
        ),
        ("passthrough", ["owner"]),
        sparse_threshold=float(sparse),
    )
    return make_pipeline(columns, LogisticRegression()).fit(MIXED, LABELS)


def polars() -> Any:
    plain = MIXED.assign(kind=MIXED["kind"].astype(str))
    return pytest.importorskip("polars").from_pandas(plain)


def classifier() -> Any:
    return LogisticRegression(max_iter=1000).fit(IRIS, SPECIES)


def boosted() -> Any:
    return XGBRegressor(n_estimators=5, n_jobs=1).fit(NUMBERS, PROGRESS)


def scaled_net() -> Any:
    net = MLPRegressor(hidden_layer_sizes=(8,), max_iter=300, tol=0.1, random_state=0)
    return make_pipeline(StandardScaler(), net).fit(NUMBERS, PROGRESS)


# the model, the table, and options of the explainer
SETTINGS: dict[str, Callable[[], tuple[Any, Any, dict]]] = {
    "outputs": lambda: (classifier(), IRIS[::7], {"groups": {"petal": [2, 3]}}),
    "predicted": lambda: (classifier(), IRIS[::7], {"output": "predicted"}),
    "one class": lambda: (classifier(), IRIS[::7], {"output": 2}),
    "single precision": lambda: (boosted(), NUMBERS.astype(np.float32), {}),
    "pipeline": lambda: (
        scaled_net(),
        NUMBERS,
        {"groups": {"blood": [4, 5, 6, 7, 8, 9]}},
    ),
    "dense columns": lambda: (one_hot(False), MIXED, {}),
    "sparse columns": lambda: (one_hot(True), MIXED, {"output": "predicted"}),
    "mixed frame": lambda: (of_cells, MIXED, {"groups": {"home": ["city", "rooms"]}}),
    "polars": lambda: (of_cells, polars(), {}),
    "objects": lambda: (of_objects, MIXED.to_numpy(dtype=object), {}),
}
NUMBERS_ONLY = ("outputs", "predicted", "one class", "single precision", "pipeline")
# rewards that refuse other columns: tests/rewards/test_conditional.py
OF_NUMBERS = {"conditional", "copula", "empirical"}


def of_reward(reward: Reward, setting: str) -> Game:
    """The game of six rows against eight of other weights, with cells in common."""
    model, table, options = SETTINGS[setting]()
    explainer = ShapleyExplainer(model, reward=reward, **options)
    explainer.fit(table[4:12], sample_weight=np.arange(1.0, 9.0))
    return explainer.reward_.game(table[:6])


# --- games that no registry knows -----------------------------------------------------


def points(
    model: Any, scoring: str, members: Any, truncation: float | None = None
) -> DataGame:
    """Six training points, of three classes."""
    seen, held_out = (IRIS[::25], SPECIES[::25]), (IRIS[7::10], SPECIES[7::10])
    scorer, members = get_scorer(scoring), np.array(members)
    return DataGame(
        model, *seen, *held_out, scorer=scorer, members=members, truncation=truncation
    )


def of_loss(model: Any, X: np.ndarray, y: np.ndarray) -> LossGame:
    importance = GlobalImportance(model).fit(X[:9], sample_weight=np.arange(1.0, 10.0))
    rows = X[5:13]
    return LossGame(
        importance.reward_.game(rows),
        importance.loss_,
        importance.loss_.targets(y[5:13], 8),
    )


def bumpy(rows: np.ndarray) -> np.ndarray:
    """Two outputs with interactions; the value of a row does not depend on the others."""
    a, b, c, d = rows.T
    return np.stack([a * b + np.abs(c) * d, np.sin(a) - b * c * d], axis=1)


def lengths(texts: list[str]) -> np.ndarray:
    return np.array([len(text) for text in texts])


HYBRID_X = np.array(
    [[1.0, 2.0, 0.5, 1.0], [0.0, -1.0, 2.0, 3.0], [1.0, 0.0, -2.0, 1.0]]
)
HYBRID_BACKGROUND = np.array(
    [[1.0, 0.0, 0.0, 1.0], [0.5, 1.0, 1.0, 1.0], [1.0, -1.0, 2.0, 1.0]]
)
HYBRID = bumpy, HYBRID_X, HYBRID_BACKGROUND, [0.5, 0.2, 0.3]
TEXTS = ["good food", "bad and slow", "good", "slow food, bad wine", "fine wine", "bad"]


def of_a_document() -> Game:
    """A document of four tokens."""
    words = make_pipeline(CountVectorizer(), LogisticRegression())
    explainer = ShapleyExplainer(words.fit(TEXTS, [1, 0, 1, 0, 1, 0])).fit(TEXTS)
    return TokenGame(explainer.reward_.of(TEXTS[3]))


def of_a_link(influences: bool) -> Game:
    """The link of a mean, or the contribution of parts of the background."""
    reward = InterventionalReward(link=np.tanh)
    explainer = ShapleyExplainer(curved, reward=reward).fit(HYBRID_BACKGROUND)
    return (explainer.reward_.influences if influences else explainer.reward_.game)(
        HYBRID_X
    )


def curved(X: np.ndarray) -> np.ndarray:
    return X[:, 0] ** 2 + X[:, 1] * X[:, 2] + 0.1 * np.tanh(3 * X[:, 3])


def of_refits(joint: bool, **parameters: Any) -> Game:
    """The predictions of models fitted to coalitions of four columns."""
    table, target = pd.DataFrame(NUMBERS[:40, 2:5]), PROGRESS[:40]
    model = KNeighborsRegressor(3) if joint else filled_ridge()
    explainer = ShapleyExplainer(
        model.fit(table, target), reward=RefitReward(**parameters)
    )
    game = explainer.fit(table, target).reward_.game(table[:4])
    return JointGame(game) if joint else game


def filled_ridge() -> Any:
    return make_pipeline(SimpleImputer(keep_empty_features=True), Ridge())


def of_remainder() -> Game:
    """The remainder of a response after its quadratic part, for dependent columns."""
    table = np.random.default_rng(0).standard_normal((200, 4)) @ np.triu(
        np.full((4, 4), 0.5)
    )
    explainer = ShapleyExplainer(
        curved, reward="conditional", sampler="antithetic"
    ).fit(table)
    return explainer.reward_.game(table[:6]).remainder()


OTHERS: dict[str, Callable[[], Game]] = {
    "hybrid": lambda: HybridGame(*HYBRID),
    "hybrid, one reference": lambda: HybridGame(bumpy, HYBRID_X, HYBRID_BACKGROUND[:1]),
    "couples, chi-square": lambda: make_couples(
        n_couples=4, n_players=5, random_state=0
    ),
    "couples, radial": lambda: make_couples("radial", 4, 5, random_state=0),
    "function": lambda: FunctionGame(RandomGame(5), 5),
    "function, outputs": lambda: FunctionGame(
        StackedGame([RandomGame(4, s) for s in (0, 1)]), 4
    ),
    "tokens": lambda: FunctionGame(TokenReward(lengths, "Not bad, and not good."), 5),
    "points": lambda: points(LogisticRegression(), "accuracy", range(6)),
    "points in groups": lambda: points(Ridge(), "r2", [0, 1, 0, 2, 1, 2]),
    "points, truncated": lambda: points(Ridge(), "r2", range(6), truncation=5.0),
    "log loss": lambda: of_loss(classifier(), IRIS[::7], SPECIES[::7]),
    "squared error": lambda: of_loss(scaled_net(), NUMBERS, PROGRESS),
    "document": of_a_document,
    "link": partial(of_a_link, influences=False),
    "link, influences": partial(of_a_link, influences=True),
    "remainder": of_remainder,
    "refits": partial(of_refits, joint=False, absent="missing", empty="constant"),
    "refits, joint": partial(of_refits, joint=True),
}
GAMES: dict[str, Callable[[], Game]] = OTHERS | {
    f"{name}, {setting}": partial(of_reward, reward, setting)
    for (name, reward), setting in product(EVERY_REWARD.items(), SETTINGS)
    if name in REWARDS
    and not reward.needs_target
    and (name not in OF_NUMBERS or setting in NUMBERS_ONLY)
}

WALKED = "what ends a walk early depends on the coalitions before"
EXEMPT: dict[str, dict[str, str]] = {"points, truncated": {"batch": WALKED}}


@cache
def made(name: str) -> Game:
    return GAMES[name]()


CASES = [(g, c) for g, c in product(GAMES, GAME_CHECKS) if c not in EXEMPT.get(g, ())]


@contracts([case for case in CASES if case[0] in OTHERS])
def test_game(name: str, check: str) -> None:
    GAME_CHECKS[check](made(name))


@pytest.mark.thinned
@contracts([case for case in CASES if case[0] not in OTHERS])
def test_game_of_a_reward(name: str, check: str) -> None:
    GAME_CHECKS[check](made(name))


@pytest.mark.parametrize(
    ("game", "check"),
    [(game, check) for game, checks in EXEMPT.items() for check in checks],
)
def test_exemptions_are_needed(game: str, check: str) -> None:
    with pytest.raises(AssertionError):
        GAME_CHECKS[check](made(game))


def test_games_without_take_are_evaluated_whole_or_refused() -> None:
    class Whole(HybridGame):
        take = Game.take

    game = Whole(bumpy, HYBRID_X, HYBRID_BACKGROUND)
    assert game.take(np.arange(3)) is game
    for rows in ([0, 1], [1, 0, 2], [0, 0, 1]):
        with pytest.raises(
            NotImplementedError, match=r"Whole has 3 rows to explain but no take"
        ):
            game.take(np.array(rows))


def descendants(base: type) -> set[type]:
    """Return the public, concrete subclasses of a class in the whole package."""
    for module in walk_packages(skshapley.__path__, "skshapley."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    found, new = set(), {base}
    while new:
        found |= new
        new = {child for parent in new for child in parent.__subclasses__()} - found
    return {
        cls
        for cls in found
        if cls.__module__.startswith("skshapley.")
        and not cls.__name__.startswith("_")
        and not inspect.isabstract(cls)
    }


def test_every_reward_of_the_package_is_tested() -> None:
    untested = descendants(Reward) - {type(reward) for reward in EVERY_REWARD.values()}
    assert not untested, f"put {untested} into REWARDS, or into EVERY_REWARD"


def test_every_game_of_the_package_is_tested() -> None:
    tested = {type(made(name)) for name in GAMES}
    untested = descendants(Game) - tested
    assert not untested, f"put a game of {untested} into OTHERS"


def test_every_row_mixer_is_tested() -> None:
    pools = {type(made(f"interventional, {setting}")._pool) for setting in SETTINGS}
    pools |= {type(made("conditional, outputs")._pool)}
    assert not descendants(RowPool) - pools
