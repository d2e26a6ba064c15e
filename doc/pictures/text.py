"""Draw a sentence with its tokens coloured by their values, for the page on text."""

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from skshapley import ShapleyExplainer
from skshapley.plots import SentenceDisplay

documents = [
    "A fine film, and a moving one.",
    "Dull from start to end.",
    "Moving and warm.",
    "Not fine; the plot is dull.",
]
model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(
    documents, [1, 0, 1, 0]
)
explainer = ShapleyExplainer(model, random_state=0).fit(documents)
explanation = explainer.explain(["A fine and moving start, but a dull end."])
SentenceDisplay.from_explanation(explanation, row=0)
