// The panel in a notebook: predictions at each move, values while the inputs rest.

const REST = 300; // milliseconds

function render({ model, el }) {
  el.classList.add("skshapley");
  // JupyterLab has commands of its own for the arrow keys, which move the sliders.
  el.addEventListener("keydown", (event) => event.stopPropagation());
  const box = element("div");
  el.replaceChildren(box);
  let [id, timer, waiting] = [0, 0, null];
  const send = (request) => {
    id += 1;
    model.set("request", { ...request, id });
    model.save_changes();
  };
  const ask = (request, done) => {
    clearTimeout(timer);
    waiting = done;
    send({ ...request, values: false });
    timer = setTimeout(() => send({ ...request, values: true }), REST);
  };
  model.on("change:answer", () => {
    const answer = model.get("answer");
    if (answer.id === id && waiting) waiting(answer);
  });
  // Without a kernel, the last state remains.
  const last = { request: model.get("request"), answer: model.get("answer") };
  new WhatIf(box, model.get("content"), ask, { last });
}

export default { render };
