"""Draw the waterfall of one tumour, for the page on the first steps."""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skshapley import ShapleyExplainer

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
network = MLPClassifier(hidden_layer_sizes=(20,), max_iter=2000, random_state=0)
model = make_pipeline(StandardScaler(), network).fit(X_train, y_train)
explainer = ShapleyExplainer(model, max_background=50, random_state=0).fit(X_train)
explainer.explain(X_test[:3]).plot.waterfall(0)
