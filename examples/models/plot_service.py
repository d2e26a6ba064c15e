"""
A service that explains one row at a time
=========================================

``fit`` computes everything that rows share. A row then costs little more than the time
of the model. Its explanation is the same alone, in a table and in any thread. A service
therefore takes a dozen lines.
"""

# %%
# The model and its explainer are made once. A pickle of the explainer contains all that
# it learned.

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.request import Request, urlopen

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skshapley import ShapleyExplainer

X, y = load_diabetes(return_X_y=True, as_frame=True)
model = make_pipeline(StandardScaler(), KNeighborsRegressor(15)).fit(X, y)
explainer = ShapleyExplainer(model, random_state=0).fit(X)

# %%
# The endpoint takes the values of a row by name. It returns the largest attributions
# with their standard errors.


class Explain(BaseHTTPRequestHandler):
    def do_POST(self):
        row = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        explanation = explainer.explain(X.iloc[[0]].assign(**row))
        frame = explanation.to_frame("long").sort_values(
            "value", key=np.abs, ascending=False
        )
        answer = (
            frame[["feature", "value", "standard_error"]]
            .head(3)
            .to_json(orient="records")
        )
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(answer.encode())

    def log_message(self, *args):
        """Say nothing of each request."""


server = ThreadingHTTPServer(("127.0.0.1", 0), Explain)
Thread(target=server.serve_forever, daemon=True).start()

# %%
# A client asks about one patient:

patient = X.iloc[7].to_dict()
url = f"http://127.0.0.1:{server.server_port}"
with urlopen(Request(url, data=json.dumps(patient).encode())) as response:
    answer = json.load(response)
server.shutdown()
server.server_close()
for line in answer:
    print(
        f"{line['feature']:4} {line['value']:+8.2f} ± "
        f"{1.96 * line['standard_error']:.2f}"
    )

# %%
# The same row in a table has the same explanation. It is equal to the last bit if the
# model's prediction of a row does not depend on the other rows. This holds for trees.
# With matrix products, the last digit may differ.

whole = explainer.explain(X.iloc[5:10])
np.testing.assert_allclose(
    whole[2].to_frame()[[line["feature"] for line in answer]].to_numpy()[0],
    [line["value"] for line in answer],
    rtol=1e-6,
)
