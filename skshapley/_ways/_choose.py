"""The choice of a way, the only place that decides how rows are explained."""

from dataclasses import replace
from typing import Any

from skshapley._run._plan import Plan, Request, is_auto
from skshapley._ways._base import Labels, Way
from skshapley._ways._coalitions import (
    Coalitions,
    Joint,
    Margins,
    joint_request,
    prepare_reward,
)
from skshapley._ways._forms import Exact, SampledTrees
from skshapley._ways._read import Reading, read, used_players


def choose(
    labels: Labels,
    reward: Any,
    request: Request,
    draft: Plan,
    entropy: int,
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
    entropy : int
    n_jobs : int or None
    """
    reading = Reading(reason="a sampler or solver was chosen")
    if request.automatic:
        stops = draft.stopping is not None and is_auto(request.stopping)
        reading = read(
            reward,
            draft.max_rows,
            n_jobs,
            request.index,
            request.pairs,
            draft.rows_to_stop if stops else None,
        )
    exact = reading.form is not None and reading.reason is None
    settings = replace(
        labels.settings,
        closed_form=reading.form.label if exact else None,
        why_sampled=reading.reason,
        exact_response=reading.instead,
    )
    labels = replace(labels, settings=settings)
    if exact:
        return Exact(
            labels,
            reward,
            entropy,
            reading.form,
            takes_raw=reward.masked_.takes_raw,
        )
    if reward.joint:
        plan = joint_request(request, draft.size, reward).plan(draft.size)
        return Joint(labels, reward, entropy, plan=plan)
    size = draft.size
    if not draft.sampler.traits.needs_all_players:
        used = used_players(reward, size.n_players)
        if not used.all():
            reward.used_ = used
            size = replace(size, n_players=max(1, int(used.sum())))
    plan = draft.checked() if size == draft.size else request.plan(size)
    margins = Margins.of(reward, plan)
    prepare_reward(reward, plan, entropy)
    way = Coalitions(labels, reward, entropy, plan=plan, margins=margins)
    nested = reward.players_.levels is not None  # trees are sampled without groups
    if reading.form is None or not plan.samples or nested:
        return way
    return SampledTrees.of(way, reading.form) or way
