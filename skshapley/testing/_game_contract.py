"""Checks for every game: shapes, purity, ends, background rows, flags and subsets of rows.

Every check evaluates a few coalitions of a few rows, at most `most_values` in one call.
Values are compared up to rounding: `rtol` is relative to the largest value compared.
"""

import pickle
from collections.abc import Callable, Container
from copy import copy, deepcopy
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from skshapley._ways._read import checked_rows
from skshapley.rewards import Game
from skshapley.rewards._game import empty_values
from skshapley.testing._checks import assert_equal, checks_named, run_checks

# Six coalitions of three rows reveal a value that depends on its neighbours in a batch.
# All checks of a game together take 10 to 30 ms of CPU for the named rewards, and 220
# ms for "surrogate".
N_ROWS = 3
N_COALITIONS = 6
# Rows that are searched for players without effect
SEARCHED_ROWS = 100
# Common content of two pickles: names of modules and classes, indices of frames. The
# named rewards have at most 250 bytes of it.
NAMES_BYTES = 4096
# Largest difference of the named rewards: 2e-16 of the largest value. Models may round
# differently in another batch, so the limit is wider; wrong values differ by much more.
RTOL = 1e-9
COUNTS = "n_players", "n_rows", "n_outputs", "n_references"
COSTS = "rows_per_value", "bytes_per_row", "most_values"


def check_game_attributes(game: Game, rtol: float = RTOL) -> None:
    """Counts and costs are positive whole numbers; each reference has a weight, with sum 1."""
    for name in COUNTS + COSTS:
        value = getattr(game, name)
        assert isinstance(value, (int, np.integer)), (
            f"{name} is {value!r} instead of an int"
        )
        assert value > 0, f"{name} is {value}, and has to be positive"
    weights = np.asarray(game.reference_weights)
    b = game.n_references
    assert weights.shape == (b,), (
        f"{b} references have weights of shape {weights.shape}"
    )
    assert (weights >= 0).all(), f"a reference has the weight {weights.min()}"
    assert abs(weights.sum() - 1) <= rtol, (
        f"the references' weights have sum {weights.sum()}"
    )


def check_game_shapes(game: Game, rtol: float = RTOL) -> None:
    """Values, ends and flags have their shapes and types, and are finite, for rows in any order."""
    rows = checked_rows(game.n_rows, N_ROWS)
    again = np.array([-1, 0, 0])  # the last row, and the first one twice
    for selection in (rows, rows[again]):
        for references in (None, _references(game, len(selection))):
            values_of(game, _coalitions(game, len(selection)), selection, references)
    expected = {name: part[again] for name, part in _ends_and_flags(game, rows).items()}
    _assert_alike(
        _ends_and_flags(game, rows[again]),
        expected,
        rtol,
        "of rows in another order",
    )


def check_game_purity(game: Game, rtol: float = RTOL) -> None:
    """Repeated calls return the same bits, also after other calls, and do not change arguments."""
    # A game may keep results of earlier calls. A repeated call must then return the
    # same bits. A copy that was first asked for other coalitions may round differently.
    fresh = deepcopy(game)
    rows = checked_rows(game.n_rows, N_ROWS)
    inputs = _coalitions(game, len(rows)), rows, _references(game, len(rows))
    before = deepcopy(inputs)
    different = _coalitions(game, len(rows), seed=1)
    calls = [inputs[:2], inputs]
    first = [values_of(game, *arguments) for arguments in calls]
    for again, tolerance, when in (
        (game, 0.0, "again"),
        (fresh, rtol, "in another order of calls"),
    ):
        values_of(again, different, rows)
        for arguments, expected in zip(calls, first, strict=True):
            assert_close(
                values_of(again, *arguments),
                expected,
                tolerance,
                f"the same call {when}",
            )
    for name, now, then in zip(
        ("coalitions", "rows", "references"),
        inputs,
        before,
        strict=True,
    ):
        assert np.array_equal(now, then), f"a call changed its {name}"


def check_game_pickling(game: Game, rtol: float = RTOL) -> None:
    """A pickled game has the same values, also if `shared` is sent separately."""
    rows = checked_rows(game.n_rows, N_ROWS)
    coalitions = _coalitions(game, len(rows))
    expected = values_of(game, coalitions, rows)
    assert_close(
        values_of(_pickled(game), coalitions, rows),
        expected,
        rtol,
        "a pickled game",
    )
    if game.shared is None:
        return
    part = game.take(rows)
    local = np.arange(len(rows))
    light = copy(part)
    shared = part.shared
    light.shared = None
    assert part.shared is shared, (
        "without its `shared`, a copy takes that of the game, too"
    )
    whole, light_bytes, shared_bytes = (
        len(pickle.dumps(thing)) for thing in (part, light, shared)
    )
    assert light_bytes <= whole - shared_bytes / 2 + NAMES_BYTES, (
        f"without its `shared` of {shared_bytes} bytes, a game of {whole} still has {light_bytes}: "
        "it carries that twice"
    )
    light = _pickled(light)
    light.shared = _pickled(shared)
    assert_close(
        values_of(light, coalitions, local),
        expected,
        rtol,
        "apart from `shared`, a game",
    )


def check_game_take(game: Game, rtol: float = RTOL) -> None:
    """`take(rows)` is the game of these rows, renumbered, in any order, with repetitions."""
    last = game.n_rows - 1
    assert last == 0 or type(game).take is not Game.take, (
        f"{type(game).__name__} has {game.n_rows} rows but no take(rows), which "
        "workers need"
    )
    for selection in [[0]] if last == 0 else [[last], [last, 0], [0, last, 0]]:
        rows = np.array(selection)
        part = game.take(rows)
        local = np.arange(len(rows))
        counts = {name: getattr(game, name) for name in COUNTS + COSTS}
        for name, whole in (counts | {"n_rows": len(rows)}).items():
            assert getattr(part, name) == whole, (
                f"take({selection}) has {name}={getattr(part, name)} instead of {whole}"
            )
        assert np.array_equal(part.reference_weights, game.reference_weights), (
            "other weights"
        )
        assert part.shared is game.shared, (
            f"take({selection}) does not pass on `shared` unchanged"
        )
        coalitions = _coalitions(game, len(rows))
        for references in (None, _references(game, len(rows))):
            expected = values_of(game, coalitions, rows, references)
            result = values_of(part, coalitions, local, references)
            assert_close(result, expected, rtol, f"values of take({selection})")
        _assert_alike(
            _ends_and_flags(part, local),
            _ends_and_flags(game, rows),
            rtol,
            f"of take({selection})",
        )
        # A worker takes rows of a game that was itself taken.
        alone = values_of(part.take(local[-1:]), coalitions[-1:], local[:1])
        whole = values_of(game, coalitions[-1:], rows[-1:])
        assert_close(alone, whole, rtol, f"a part of take({selection})")


def check_game_references(game: Game, rtol: float = RTOL) -> None:
    """Values against all references are weighted means of single ones; against q, plain means."""
    rows = checked_rows(game.n_rows, N_ROWS)
    coalitions = _coalitions(game, len(rows))
    references = _references(game, len(rows))
    singles = _against_each(game, coalitions, rows)
    mean = (game.reference_weights[:, None] * singles).sum(axis=2)
    assert_close(
        values_of(game, coalitions, rows),
        mean,
        rtol,
        "against all references",
    )
    mean = np.take_along_axis(singles, references[..., None], axis=2).mean(axis=2)
    q = references.shape[2]
    assert_close(
        values_of(game, coalitions, rows, references),
        mean,
        rtol,
        f"against {q} references",
    )


def check_game_ends(game: Game, rtol: float = RTOL) -> None:
    """`empty` and `full` are the values of the empty and the full coalition."""
    rows = checked_rows(game.n_rows, N_ROWS)
    nobody = np.zeros((len(rows), 1, game.n_players), dtype=bool)
    empty = game.empty(rows)
    full = np.repeat(game.full(rows)[:, None], game.n_references, axis=1)
    # compared with the values themselves, because their mean may be 0
    mean = (game.reference_weights[:, None] * empty).sum(axis=1, keepdims=True)
    computed = np.concatenate([empty_values(game, rows)[:, None], empty], axis=1)
    mean = np.concatenate([mean, empty], axis=1)
    assert_close(computed, mean, rtol, "v_empty and the mean of empty(rows)")
    for name, coalitions, expected in (
        ("empty", nobody, empty),
        ("full", ~nobody, full),
    ):
        assert_close(
            _against_each(game, coalitions, rows)[:, 0],
            expected,
            rtol,
            f"{name}(rows) and its coalition, by reference",
        )
        mean = (game.reference_weights[:, None] * expected).sum(axis=1)
        assert_close(
            values_of(game, coalitions, rows)[:, 0],
            mean,
            rtol,
            f"{name}(rows) and its coalition",
        )


def check_game_active(game: Game, rtol: float = RTOL) -> None:
    """Players that are not `active` change no value, against all references or single ones."""
    rows = checked_rows(game.n_rows, SEARCHED_ROWS)
    active = game.active(rows)
    partial_rows = np.flatnonzero(~active.all(axis=1))[:N_ROWS]
    for values in (values_of, _against_each):
        _assert_idle(
            values,
            game,
            rows[partial_rows],
            active[partial_rows],
            rtol,
            "active",
        )


def check_game_differing(game: Game, rtol: float = RTOL) -> None:
    """Players that are not `differing` from a reference change no value against it."""
    rows = checked_rows(game.n_rows, SEARCHED_ROWS)
    differing = _differing(game, rows)
    if differing is None:
        return
    line, reference = np.nonzero(~differing.all(axis=2))
    # At most twelve pairs, since the search covers up to a hundred rows and all
    # background rows.
    sample = checked_rows(len(line), 4 * N_ROWS)
    line = line[sample]
    reference = reference[sample]
    _assert_idle(
        partial(
            values_of,
            references=np.repeat(reference[:, None, None], N_COALITIONS, axis=1),
        ),
        game,
        rows[line],
        differing[line, reference],
        rtol,
        "differing",
    )


def check_game_batch(game: Game, rtol: float = RTOL) -> None:
    """A value does not depend on the other coalitions, rows and references of the call."""
    rows = checked_rows(game.n_rows, N_ROWS)
    coalitions = _coalitions(game, len(rows))
    order = np.random.default_rng(2).permutation(coalitions[..., 0].size)
    n = len(order)
    lines = np.repeat(rows, N_COALITIONS)
    for references in (None, _references(game, len(rows))):
        expected = values_of(game, coalitions, rows, references).reshape(n, 1, -1)[
            order
        ]
        inputs = [coalitions.reshape(n, 1, -1)[order], lines[order]]
        if references is not None:
            inputs.append(references.reshape(n, 1, -1)[order])
        for together, how in (
            (n, "one coalition a line, in another order"),
            (1, "asked alone"),
        ):
            batches = [
                values_of(game, *(part[start : start + together] for part in inputs))
                for start in range(0, n, together)
            ]
            assert_close(np.concatenate(batches), expected, rtol, f"{how}, values")


def _coalitions(game: Game, r: int, seed: int = 0) -> np.ndarray:
    """Return coalitions ``(r, m, p)`` of all sizes, beginning with the empty and the full one."""
    rng = np.random.default_rng([seed, r])
    coalitions = rng.random((r, N_COALITIONS, game.n_players)) < rng.random(
        (r, N_COALITIONS, 1)
    )
    coalitions[:, 0] = False
    coalitions[:, 1] = True
    return coalitions


def _references(game: Game, r: int, q: int = 3) -> np.ndarray:
    """Return references ``(r, m, q)`` for the coalitions; the first one has the last q times."""
    b = game.n_references
    references = np.random.default_rng([3, r]).integers(b, size=(r, N_COALITIONS, q))
    references[:, 0] = b - 1
    return references


def values_of(
    game: Game,
    coalitions: np.ndarray,
    rows: np.ndarray,
    references: np.ndarray | None = None,
) -> np.ndarray:
    """Return the values ``(r, m, k)``, of at most `most_values` coalitions in each call."""
    r, m, _ = coalitions.shape
    wide = min(m, game.most_values)
    high = game.most_values // wide
    values = np.empty((r, m, game.n_outputs))
    for i, j in product(range(0, r, high), range(0, m, wide)):
        lines = slice(i, i + high)
        block = np.s_[i : i + high, j : j + wide]
        block_references = None if references is None else references[block]
        result = game(coalitions[block], rows[lines], block_references)
        _assert_array(result, values[block].shape, np.float64, "what a call returned")
        values[block] = result
    return values


def _against_each(game: Game, coalitions: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the values against every single reference, ``(r, m, b, k)``."""
    (r, m, _), b = coalitions.shape, game.n_references
    references = np.broadcast_to(np.tile(np.arange(b), m)[:, None], (r, m * b, 1))
    return values_of(game, np.repeat(coalitions, b, axis=1), rows, references).reshape(
        r,
        m,
        b,
        game.n_outputs,
    )


def _ends_and_flags(game: Game, rows: np.ndarray) -> dict[str, np.ndarray]:
    """Return all properties of the rows of a game that need no coalition."""
    arrays = {name: getattr(game, name)(rows) for name in ("empty", "full", "active")}
    arrays |= {"v_empty": empty_values(game, rows), "differing": _differing(game, rows)}
    of_reference = len(rows), game.n_references
    shapes: dict[str, tuple[int, ...]] = {
        "empty": (*of_reference, game.n_outputs),
        "full": (len(rows), game.n_outputs),
        "active": (len(rows), game.n_players),
        "v_empty": (len(rows), game.n_outputs),
        "differing": (*of_reference, game.n_players),
    }
    arrays = {name: array for name, array in arrays.items() if array is not None}
    for name, array in arrays.items():
        kind = bool if name in ("active", "differing") else np.float64
        _assert_array(array, shapes[name], kind, name)
    return arrays


def _assert_idle(
    values: Callable,
    game: Game,
    rows: np.ndarray,
    matters: np.ndarray,
    rtol: float,
    which: str,
) -> None:
    """Raise AssertionError if players that do not matter, by ``(r, p)``, change a value."""
    coalitions, different = (_coalitions(game, len(rows), seed) for seed in (0, 1))
    changed = np.where(matters[:, None], coalitions, different)
    assert_close(
        values(game, coalitions, rows),
        values(game, changed, rows),
        rtol,
        f"coalitions with equal {which} players",
    )


def _differing(game: Game, rows: np.ndarray) -> np.ndarray | None:
    """Return the players that differ from each reference, ``(r, b, p)``, if the game knows them."""
    r = len(rows)
    b = game.n_references
    differing = game.differing(np.repeat(rows, b), np.tile(np.arange(b), r))
    return None if differing is None else differing.reshape(r, b, -1)


def _pickled(thing: Any) -> Any:
    """Return a copy that went through pickle."""
    try:
        return pickle.loads(pickle.dumps(thing))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise AssertionError(f"{thing} cannot be pickled: {error}") from error


def _assert_array(found, shape: tuple[int, ...], kind: type, what: str) -> None:
    """Raise AssertionError unless an array has this shape and type, and is finite."""
    assert np.shape(found) == shape, (
        f"{what} has shape {np.shape(found)} instead of {shape}"
    )
    assert found.dtype == kind, f"{what} is {found.dtype} instead of {np.dtype(kind)}"
    assert np.isfinite(found).all(), f"{what} is not finite"


def _assert_alike(found: dict, expected: dict, rtol: float, who: str) -> None:
    """Raise AssertionError unless ends and flags agree to rounding."""
    assert found.keys() == expected.keys(), f"differing {who} is sometimes None"
    for name, part in expected.items():
        assert_close(found[name], part, rtol, f"{name} {who}")


def assert_close(found, expected, rtol: float, what: str) -> None:
    """Raise AssertionError unless arrays agree to rounding, relative to the largest number."""
    assert found.shape == expected.shape, (
        f"{what}: shape {found.shape}, not {expected.shape}"
    )
    largest = max(np.abs(array).max(initial=0.0) for array in (found, expected))
    assert_equal(found, expected, what, rtol * largest)


GAME_CHECKS = checks_named("check_game_", globals())


def check_game(game: Game, *, skip: Container[str] = (), rtol: float = RTOL) -> None:
    """Check a game: shapes, purity, pickling, take, background rows, ends, idle players.

    Parameters
    ----------
    game : Game
        About a hundred coalitions of three rows are evaluated, a few times each.
    skip : container of str, default=()
        Names of checks that do not apply, such as "take".
    rtol : float, default=1e-9
        Allowed rounding, relative to the largest value: a model may round differently
        in another batch. Single precision needs about 1e-5.

    Raises
    ------
    AssertionError
        If the check fails.

    Examples
    --------
    >>> from functools import partial
    >>> import numpy as np
    >>> from skshapley.testing import HybridGame, check_game
    >>> largest = partial(np.max, axis=1)
    >>> check_game(HybridGame(largest, np.eye(3), [[0.0, 1.0, 2.0], [3.0, 0.0, 0.0]]))
    """
    run_checks(GAME_CHECKS, skip, game, rtol)
