"""The choice of a way, the only place that decides how rows are explained."""

from dataclasses import replace
from typing import Any

from skshapley._run._plan import Plan, Request
from skshapley._ways._base import Labels, Way
from skshapley._ways._coalitions import Coalitions, Joint
from skshapley._ways._forms import Exact, SampledTrees
from skshapley._ways._read import Reading, read, used_players


def choose(
    labels: Labels,
    reward: Any,
    request: Request,
    draft: Plan,
    n_jobs: int | None,
) -> Way:
    """Return the way to explain rows by a fitted reward.

    Parameters
    ----------
    labels : Labels
    reward : Reward
        Fitted.
    request : Request
    draft : Plan
        The plan of sampling, without regard to indices.
    n_jobs : int or None
    """
    reading = Reading(reason="a sampler or solver was chosen")
    if request.automatic:
        pairs = request.pairs
        stops_after = draft.rows_to_stop if draft.stops_by_default else None
        reading = read(
            reward,
            draft.max_rows,
            n_jobs,
            request.index,
            pairs,
            stops_after,
        )
    labels = _with_reading(labels, reading)
    if reading.form is not None and reading.reason is None:
        return Exact(
            labels,
            reward,
            request.entropy,
            reading.form,
            takes_raw=reward.masked_.takes_raw,
        )
    if reward.joint:
        return Joint.planned(labels, reward, request, draft.size)
    size = draft.size
    if not draft.usual[0].traits.needs_all_players:
        used = used_players(reward, size.n_players)
        if not used.all():
            reward.leave_out(~used)
            size = replace(size, n_players=max(1, int(used.sum())))
    same = size == draft.size and not request.asymmetric
    plan = draft.checked() if same else request.plan(size)
    way = Coalitions.prepared(labels, reward, plan)
    nested = reward.players_.levels is not None  # trees are sampled without groups
    if reading.form is None or not way.plan.samples or nested:
        return way
    return SampledTrees.of(labels, reward, way.plan, reading.form) or way


def _with_reading(labels: Labels, reading: Reading) -> Labels:
    """Return labels with the closed form in the settings, or with the obstacle."""
    name = reading.form.label if reading.exact and reading.form else None
    settings = replace(
        labels.settings,
        closed_form=name,
        why_sampled=reading.reason,
        exact_response=reading.instead,
    )
    return replace(labels, settings=settings)
