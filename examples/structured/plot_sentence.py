"""
Explaining a sentence word by word
==================================

The words of a sentence lie on a chain, and what a word does depends mostly on its neighbours. Chen,
Song, Wainwright and Jordan (2018) open with the sentence below: the verdict hangs on *not*, which
says nothing on its own. We explain it by all 512 coalitions, and by methods that look at a few
words at a time.
"""

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from skshapley import shapley_values
from skshapley.plots import SentenceDisplay
from skshapley.rewards import TokenReward
from skshapley.samplers import ConnectedRegression, ConnectedShapley, LocalShapley

SENTENCE = "It is not heartwarming or entertaining. It just sucks."

# %%
# A model of reviews
# ------------------
# To keep this page self-contained, the reviews are made up by rule: a negation turns the words of
# its clause around. The model, words, pairs and triples of words in a logistic regression, has to
# find that out.

PRAISE = ["heartwarming", "entertaining", "brilliant", "moving", "funny", "clever", "great"]
BLAME = ["boring", "dull", "awful", "silly", "tedious", "lame", "weak"]
END_WELL = ["It just works.", "I loved it.", "It just shines.", "Go see it."]
END_BADLY = ["It just sucks.", "I hated it.", "It just drags.", "Stay away."]


def review(rng):
    """Return a made-up review and whether it is favourable."""
    words, good = (PRAISE, 1) if rng.random() < 0.5 else (BLAME, -1)
    first, second = rng.choice(words, 2, replace=False)
    negated = rng.random() < 0.5
    link = "or" if negated else "and"
    clause = f"It is {'not ' if negated else ''}{first} {link} {second}."
    verdict = good * (-1 if negated else 1)
    if rng.random() < 0.7:
        well = verdict > 0 if rng.random() < 0.85 else verdict < 0
        clause += " " + rng.choice(END_WELL if well else END_BADLY)
    return clause, verdict > 0


rng = np.random.default_rng(0)
texts, favourable = zip(*(review(rng) for _ in range(4000)), strict=True)
model = make_pipeline(CountVectorizer(ngram_range=(1, 3)), LogisticRegression(max_iter=1000))
model.fit(texts[:3000], favourable[:3000])
print(f"accuracy on unseen reviews: {model.score(texts[3000:], favourable[3000:]):.3f}")

# %%
# The exact values
# ----------------
# The players are the words; a word that the model does not know stands in for an absent one, as
# padding does in the paper. The reward is the log-odds of the class predicted for the whole
# sentence, here *not favourable*. Orange speaks for it, blue against.

reward = TokenReward(model, SENTENCE, mask="xxx", response_method="log_odds", output="predicted")
exact = shapley_values(reward, sampler="exact", max_evals=2**reward.n_players)
explanation = reward.explanation(exact)
print(f"predicted: {explanation.settings.output}, {exact.n_evaluations} evaluations")
SentenceDisplay.from_explanation(explanation)

# %%
# Neighbours only
# ---------------
# L-Shapley of order k looks at all subsets of the 2k + 1 words around a word, C-Shapley at the
# connected ones among them, and its regression at all runs of up to four words. All are
# deterministic, and their cost is known before the model is called; it grows in proportion to the
# length of the text.

samplers = {
    "L-Shapley, k = 1": LocalShapley("chain", order=1),
    "L-Shapley, k = 2": LocalShapley("chain", order=2),
    "C-Shapley, k = 2": ConnectedShapley("chain", order=2),
    "C-Shapley, regression": ConnectedRegression("chain", order=4),
    "antithetic permutations": "antithetic",
    "leverage": "leverage",
}
for name, sampler in samplers.items():
    cost = getattr(sampler, "n_evaluations", lambda p: 4 * p)(reward.n_players)
    result = shapley_values(reward, sampler=sampler, max_evals=cost, random_state=0)
    error = np.linalg.norm(result.values - exact.values) / np.linalg.norm(exact.values)
    print(f"{name:24s} {result.n_evaluations:4d} evaluations, relative error {error:.2f}")

# %%
# This model never looks further than three words. What separated groups of words do to its log-odds
# therefore adds up, and order 2 is exact: L-Shapley for a fifth of all coalitions, C-Shapley for an
# eighth. Where the model sees further, or absent words are left out so that their neighbours close
# up, they are approximations.

local = shapley_values(reward, sampler=LocalShapley("chain", order=2), max_evals=200)
SentenceDisplay.from_explanation(reward.explanation(local))
