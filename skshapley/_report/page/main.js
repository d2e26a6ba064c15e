// The page as a whole: which output it shows, and when it is drawn.

const content = JSON.parse(byId("content").textContent);
const rows = new Rows(content);
const state = { output: 0, all: false, width: 0 };

function drawPictures() {
  const output = content.outputs[state.output];
  const open = (row) => rows.open(row);
  open.select = (found) => rows.select(found);
  for (const draw of sections) draw(content, output, open, state.all);
  drawContents();
  state.width = document.body.clientWidth;
}

function draw() {
  const output = content.outputs[state.output];
  const terms = (facts) => facts.flatMap(([name, text]) => [element("dt", {}, name), element("dd", {}, text)]);
  part("facts", "dl").replaceChildren(...terms(output.facts));
  part("facts", ".parameters").replaceChildren(...terms(output.parameters));
  drawPictures();
  rows.draw(output);
}

// Links to the sections that there are.
function drawContents() {
  const sections = [...document.querySelectorAll("main section")].filter((section) => !section.hidden);
  byId("contents").replaceChildren(...sections.map((section) =>
    element("a", { href: `#${section.id}` }, section.querySelector("h2").textContent)));
}

function begin() {
  const of = content.n_rows > content.n_explained ? `, evenly spread over ${count(content.n_rows, "row")}` : "";
  byId("summary").textContent = `${count(content.n_explained, "row")}${of}, ${count(content.n_features, "feature")}` +
    (content.names ? `, ${count(content.names.length, "output")}` : "");
  part("rows", ".note").textContent = (content.rows.length < content.n_explained
    ? `${count(content.rows.length, "row")}, evenly spread over the ${content.n_explained.toLocaleString("en")} explained. ` : "") +
    "A row opens its waterfall: orange bars raise the prediction, blue ones lower it. " +
    "A title sorts; the search looks at names of rows and at texts; the download has the rows found.";
  if (content.names) {
    options(byId("output"), content.names, 0);
    byId("outputs").hidden = false;
    byId("output").addEventListener("change", (event) => {
      state.output = Number(event.target.value);
      draw();
    });
  }
  allFeatures.addEventListener("click", () => {
    state.all = !state.all;
    drawPictures();
  });
  addSaveButtons();
  if (content.rows.length === 1) rows.opened.add(0);
  draw();
  new ResizeObserver(() => {
    if (document.body.clientWidth !== state.width) drawPictures();
  }).observe(document.body);
  document.documentElement.dataset.drawn = "";
}

begin();
