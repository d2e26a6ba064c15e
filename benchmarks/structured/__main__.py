"""L-Shapley and C-Shapley against samplers that know no graph: Chen et al. (2018), section 5.

    python -m benchmarks structured [scaling digits tiles imdb agnews mnist cifar]

Every method spends at most 4 d evaluations an instance on the log-probability of the
predicted class, an absent word left out, an absent pixel at the mean of the training
images. Then the features that rank first are masked, and the log-odds of the class
follow (Figures 2 and 3 of the paper). L-Shapley of pixels needs up to 23 d and is shown
beside them; saliency reads the gradient. SampleShapley draws every marginal
contribution by itself, two of them for each feature. Figures 3 (right), 4 and 5 show
the pixels that rank first. Of digits as 4 x 4 tiles all coalitions are known, and
errors too.

Data come from the folder SKSHAPLEY_DATA, all but the digits; results go to
doc/results/structured. LIME takes part if it is installed (pip install lime).
"""

import os
import sys
import time
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline

from benchmarks.structured.pictures import draw_misread, draw_rows, saliency
from benchmarks.structured.report import RESULTS, report, write_tables
from skshapley import ShapleyExplainer, shapley_values
from skshapley.diagnostics import masking_curve
from skshapley.rewards import TokenReward
from skshapley.samplers import (
    Antithetic,
    Classical,
    ConnectedRegression,
    ConnectedShapley,
    Kernel,
    Leverage,
    LocalShapley,
    MonteCarlo,
)

DATA = os.environ.get("SKSHAPLEY_DATA")
PER_FEATURE = 4
OVER = "L-Shapley, k = 1 (over budget)"
SAMPLED = "SampleShapley"
SHOWN = "C-Shapley, regression", "kernel least squares", SAMPLED, "saliency"
MOST_WORDS = 200
SCALED = {
    "L-Shapley, k = 1": LocalShapley("chain", 1),
    "L-Shapley, k = 2": LocalShapley("chain", 2),
    "C-Shapley, k = 2": ConnectedShapley("chain", 2),
    "C-Shapley, k = 4": ConnectedShapley("chain", 4),
    "regression C-Shapley, length 4": ConnectedRegression("chain", 4),
}
LINES = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096)


def scaling():
    """Evaluations and CPU time of a line of d players, without the model's time."""
    records = [scaled(name, d) for d in LINES for name in SCALED]
    columns = ["method", "d", "evaluations", "per_player", "plan_s", "total_s", "error"]
    table = pd.DataFrame(records, columns=columns)
    table.to_csv(RESULTS / "scaling.csv", index=False, float_format="%.4g")
    print(table.to_string())


def scaled(name, d):
    """Return the line of one method and one number of players."""
    start = time.process_time()
    cost = SCALED[name].n_evaluations(d)
    planned = time.process_time() - start
    start = time.process_time()
    worth = np.arange(d) % 7
    result = shapley_values(
        lambda S: S @ worth, n_players=d, sampler=SCALED[name], max_evals=cost
    )
    seconds = time.process_time() - start
    return (
        name,
        d,
        cost,
        cost / d,
        planned,
        seconds,
        np.abs(result.values - worth).max(),
    )


def on_a_graph(graph, local="L-Shapley, k = 1"):
    """The samplers of all experiments, by name."""
    return {
        local: LocalShapley(graph, 1),
        "C-Shapley, regression": ConnectedRegression(graph, 4),
        "C-Shapley, regression, balanced": ConnectedRegression(graph, 4, balanced=True),
        "kernel least squares": Kernel(),
        "leverage least squares": Leverage(),
        SAMPLED: Classical(),
        "permutations": MonteCarlo(),
        "antithetic permutations": Antithetic(),
    }


def afforded(method, sampler, p):
    """Return the evaluations of a method, with v(empty) and v(all)."""
    if method == OVER:
        return sampler.n_evaluations(p)
    return PER_FEATURE * p + 2 * (method == SAMPLED)  # which does not need both ends


def lime_values(game, p, n_evals, rng):
    """LIME with the perturbations of its text explainer and the package's own regression."""
    from lime.lime_base import LimeBase

    coalitions = np.ones((n_evals, p), dtype=bool)
    for row in coalitions[1:]:
        row[rng.choice(p, rng.integers(1, p + 1), replace=False)] = False
    distances = 100 * (
        1 - np.sqrt(coalitions.mean(axis=1))
    )  # cosine to the whole document
    base = LimeBase(lambda d: np.sqrt(np.exp(-(d**2) / 25**2)), random_state=0)
    values = np.asarray(game(coalitions), dtype=float)
    found = base.explain_instance_with_data(
        coalitions.astype(float),
        np.stack([values, values], axis=1),
        distances,
        1,
        num_features=p,
        feature_selection="none",
    )[1]
    weights = np.zeros(p)
    for feature, weight in found:
        weights[feature] = weight
    return weights


def word_games(model, documents, response):
    """Return the response of the predicted class, as games of the words of each document."""
    common = {"response_method": response, "output": "predicted"}
    return [TokenReward(model, document, **common) for document in documents]


def of_words(method, games, seed=0):
    """Return the values of each document by one method, and evaluations per word."""
    sampler, values, costs = on_a_graph("chain")[method], [], []
    for i, game in enumerate(games):
        result = shapley_values(
            game,
            sampler=sampler,
            max_evals=afforded(method, sampler, game.n_players),
            random_state=seed + i,
        )
        values.append(result.values)
        costs.append(result.n_evaluations / game.n_players)
    return values, np.mean(costs)


def text(name, seed=0):
    """Explain documents by all methods and follow the log-odds."""
    model, documents = TEXTS[name]()
    games = word_games(model, documents, "predict_log_proba")
    values, cost = {}, {}
    for method in on_a_graph("chain"):
        values[method], cost[method] = of_words(method, games, seed)
    rng = np.random.default_rng(seed)
    if find_spec("lime"):
        sizes = [(game, game.n_players) for game in games]
        values["LIME"] = [
            lime_values(game, p, PER_FEATURE * p, rng) for game, p in sizes
        ]
        cost["LIME"] = PER_FEATURE
    values["random"] = [rng.random(game.n_players) for game in games]
    followed = word_games(model, documents, "log_odds")
    curves = {method: masking_curve(followed, v) for method, v in values.items()}
    report(name, curves, cost)


def of_pixels(method, model, train, X, shape, groups=None, seed=0):
    """Return the explainer and the explanation of images by one method."""
    sampler = on_a_graph(("grid", shape), OVER)[method]
    explainer = ShapleyExplainer(
        model,
        reward="baseline",
        response_method="predict_log_proba",
        output="predicted",
        sampler=sampler,
        max_rows=afforded(method, sampler, int(np.prod(shape))) - 1,
        groups=groups,
        random_state=seed,
    ).fit(train)
    return explainer, explainer.explain(X)


def images(name, seed=0):
    """Explain images by all methods and follow the log-odds; return values and an explainer."""
    model, train, X, shape, groups = PIXELS[name]()
    values, cost, p = {}, {}, int(np.prod(shape))
    for method in on_a_graph(("grid", shape), OVER):
        explainer, explanation = of_pixels(method, model, train, X, shape, groups, seed)
        values[method] = explanation.values
        cost[method] = explanation.n_evaluations.mean() / p
    game, rng = explainer.reward_.game(X), np.random.default_rng(seed)
    if find_spec("lime"):
        rows = np.arange(len(X))[:, None]
        games = [lambda S, row=row: game(S[None], row)[0, :, 0] for row in rows]
        values["LIME"] = [lime_values(one, p, PER_FEATURE * p, rng) for one in games]
        cost["LIME"] = PER_FEATURE
    values["saliency"] = saliency(model, X).reshape(len(X), p, -1).sum(axis=2)
    values["random"] = rng.random((len(X), p))
    curves = {method: masking_curve(explainer, v, X) for method, v in values.items()}
    report(name, curves, cost)
    return values, explainer


def read_imdb():
    """Movie reviews: a linear model of words and pairs of words, and sixty short ones."""
    data = pd.read_csv(Path(DATA) / "imdb_movie_review_5000.csv.gz")
    data["review"] = data["review"].str.replace("<br />", " ")
    model = make_pipeline(
        TfidfVectorizer(ngram_range=(1, 2), min_df=3, sublinear_tf=True),
        LogisticRegression(C=10, max_iter=500),
    )
    train, test = data[:4000], data[4000:]
    model.fit(train["review"], train["sentiment"])
    print("accuracy", model.score(test["review"], test["sentiment"]))
    words = test["review"].str.split().str.len()
    return model, test["review"][words <= MOST_WORDS][:60]


def read_agnews():
    """News: a linear model of characters, and a hundred of them."""
    data = pd.read_csv(Path(DATA) / "ag_news_test_7600.csv.gz").sample(
        frac=1, random_state=0
    )
    model = make_pipeline(
        TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), max_features=20000),
        LogisticRegression(C=10, max_iter=300),
    )
    train, test = data[:6000], data[6000:]
    model.fit(train["text"], train["label_name"])
    print("accuracy", model.score(test["text"], test["label_name"]))
    return model, test["text"][:100]


def read_digits():
    """The bundled 8 x 8 digits: a model, the rows it knows, and a hundred others."""
    X, y = load_digits(return_X_y=True)
    train, test, y_train, y_test = train_test_split(X / 16, y, random_state=0)
    model = MLPClassifier((50,), max_iter=600, random_state=0).fit(train, y_train)
    print("accuracy", model.score(test, y_test))
    return model, train, test[:100], (8, 8), None


def tiles():
    """Distances from Shapley values: 4 x 4 tiles of digits with known values of all coalitions."""
    records, methods = [], ["exact", *on_a_graph(("grid", (4, 4)), OVER)]
    for response in ("predict_log_proba", "log_odds"):
        exact, _ = of_tiles("exact", response)
        for method in methods:
            values, cost = of_tiles(method, response)
            records.append((response, method, cost, relative_error(values, exact)))
    table = pd.DataFrame(
        records, columns=["response", "method", "evaluations", "relative_error"]
    )
    table.to_csv(RESULTS / "tiles.csv", index=False, float_format="%.4g")
    print(table.to_string())


def of_tiles(method, response):
    """Return the values of tiles by one method, and its evaluations."""
    model, train, X, *_ = read_digits()
    corner = np.add.outer(16 * np.arange(4), 2 * np.arange(4)).ravel()
    groups = {
        f"tile {i}": [int(c + j) for j in (0, 1, 8, 9)] for i, c in enumerate(corner)
    }
    samplers, p = {"exact": "exact"} | on_a_graph(("grid", (4, 4)), OVER), len(groups)
    cost = 2**p if method == "exact" else afforded(method, samplers[method], p)
    explainer = ShapleyExplainer(
        model,
        reward="baseline",
        response_method=response,
        output="predicted",
        sampler=samplers[method],
        max_rows=cost - 1,
        groups=groups,
        random_state=0,
    )
    return explainer.fit(train).explain(X).values, cost


def relative_error(values, exact):
    """Return the mean over rows of |phi - truth|/|truth|."""
    off = np.linalg.norm(values - exact, axis=1)
    return (off / np.linalg.norm(exact, axis=1)).mean()


def read_mnist():
    """Handwritten 3 and 8: a model, the rows it knows, and thirty others."""
    data = np.load(Path(DATA) / "mnist_3v8.npz")
    train, test = (
        data[f"X_{part}"].reshape(-1, 784) / 255.0 for part in ("train", "test")
    )
    model = MLPClassifier((64,), max_iter=30, early_stopping=True, random_state=0)
    model.fit(train, data["y_train"])
    print("accuracy", model.score(test, data["y_test"]))
    return model, train, test[:: len(test) // 30][:30], (28, 28), None


def mnist():
    """Handwritten 3 and 8, pixels as players; pictures of some, and of one misread each."""
    values, explainer = images("mnist")
    model, train, X, *_ = read_mnist()
    data = np.load(Path(DATA) / "mnist_3v8.npz")
    label = data["y_test"][:: len(data["y_test"]) // 30][:30]
    some = np.concatenate([np.flatnonzero(label == y)[:4] for y in (3, 8)])
    draw_rows(RESULTS / "figure4.png", X[some].reshape(-1, 28, 28), take(values, some))
    test = data["X_test"].reshape(-1, 784) / 255.0
    read = model.predict(test)
    wrong = [
        np.flatnonzero((data["y_test"] == y) & (read != y)) for y in np.unique(read)
    ]
    X = test[[some[0] for some in wrong]]
    explainer.set_params(sampler=ConnectedRegression(("grid", (28, 28)), 4))
    found = explainer.fit(train).explain(X).values
    titles = [f"{y} read as {to}" for y, to in ((3, 8), (8, 3))]
    draw_misread(RESULTS / "figure3_right.png", X.reshape(-1, 28, 28), found, titles)


def take(values, some):
    """Return the values of some instances, of the methods that are shown as pictures."""
    return {method: np.asarray(values[method])[some] for method in SHOWN}


def read_cifar():
    """Deer and horses: a model, the rows it knows, and twenty others; a pixel has three columns."""
    data = np.load(Path(DATA) / "cifar10_deer_horse.npz")
    order = np.random.default_rng(0).permutation(len(data["y_train"]))
    train = data["X_train"].reshape(-1, 3072)[order] / 255.0
    test = data["X_test"].reshape(-1, 3072) / 255.0
    network = MLPClassifier(
        (64,), alpha=1.0, max_iter=150, early_stopping=True, random_state=0
    )
    model = make_pipeline(PCA(60, whiten=True, random_state=0), network)
    model.fit(train, data["y_train"][order])
    print("accuracy", model.score(test, data["y_test"]))
    groups = {f"pixel {i}": [3 * i, 3 * i + 1, 3 * i + 2] for i in range(1024)}
    return model, train, test[:: len(test) // 20][:20], (32, 32), groups


def cifar():
    """Deer and horses, pixels of three colours as players; pictures of some."""
    values, _ = images("cifar")
    X = read_cifar()[2]
    some = np.r_[0:4, -4:0]  # deer come first
    draw_rows(
        RESULTS / "figure5.png", X[some].reshape(-1, 32, 32, 3), take(values, some)
    )


TEXTS = {"imdb": read_imdb, "agnews": read_agnews}
PIXELS = {"digits": read_digits, "mnist": read_mnist, "cifar": read_cifar}
BUNDLED = {"scaling": scaling, "digits": partial(images, "digits"), "tiles": tiles}
FROM_FILES = {name: partial(text, name) for name in TEXTS} | {
    "mnist": mnist,
    "cifar": cifar,
}

if __name__ == "__main__":
    RESULTS.mkdir(parents=True, exist_ok=True)
    experiments = BUNDLED | (FROM_FILES if DATA else {})
    for chosen in sys.argv[1:] or experiments:
        experiments[chosen]()
    write_tables()
