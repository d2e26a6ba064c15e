// The panel in a report: it computes in the page, for the output that the report shows.

addSection("what-if", "What if a value were different", ["note", "panel-box"], drawWhatIf);
let panel = null;

function drawWhatIf(content, output) {
  if (panel) panel.show(content.outputs.indexOf(output));
  panel ??= whatIfPanel(content);
}

function whatIfPanel({ what_if: model, outputs, rows: labels }) {
  const compute = new PageModel(model);
  const n = model.weights.length;
  const represented = n < model.n_background ? `, chosen to represent ${model.n_background.toLocaleString("en")} rows` : "";
  part("what-if", ".note").textContent = "Move a value, and the prediction and the contributions follow. They are exact, against " +
    `${count(n, "background row")}${represented}. This page contains the model and these background rows, and computes without a network.`;
  const data = { ...model, labels, responses: outputs.map(({ response }) => response), bars: model.columns.map(({ name }) => name),
    interval: ` for the choice of these ${count(n, "background row")}.` };
  const ask = ({ cells, output, column, points, start }, done) => {
    const curve = points.map((point) => compute.predict(cells.with(column, point)));
    const former = start ? compute.explain(start, output) : null;
    done({ ...compute.explain(cells, output), curve, former });
  };
  const whatIf = new WhatIf(part("what-if", ".panel-box"), data, ask, { linked: true });
  addEventListener("hashchange", () => {
    if (!location.hash.startsWith("#row=")) return; // a link to a section
    whatIf.former = null;
    whatIf.read();
    whatIf.replace(whatIf.cells);
  });
  return whatIf;
}
