// Attributions over outputs that are numbers, such as times: a line for each feature.

const MOST_CURVES = 6;

// The strongest features of numbers by output and feature, with their names.
function curvesOf(content, numbersOf) {
  const size = (feature) => Math.max(...content.outputs.map((output) => Math.abs(numbersOf(output, feature))));
  return content.features.map((name, feature) => ({ name, feature, size: size(feature) }))
    .sort((a, b) => b.size - a.size).slice(0, MOST_CURVES)
    .map(({ name, feature }) => ({ name, values: content.outputs.map((output) => numbersOf(output, feature)) }));
}

function curveChart(content, width, lines, up) {
  const bottom = HEIGHT - MARGIN.bottom;
  const ends = extent(lines.flatMap(({ values }) => [...values, 0]));
  const pad = 0.04 * (ends[1] - ends[0] || 1);
  const heights = ticks(ends, 5);
  const sides = tickTexts(heights);
  const left = 32 + LETTER * Math.max(...sides.map((text) => text.length));
  const right = width - MARGIN.right;
  const along = extent(content.places);
  const across = scale(along, left, right - LETTER);
  const above = scale([ends[0] - pad, ends[1] + pad], bottom, MARGIN.top);
  const places = ticks(along, 5);
  const texts = tickTexts(places);
  const marks = marksApart(places.map((x, i) => [x, texts[i]]), across, width);
  const point = (y, i) => `${across(content.places[i]).toFixed(1)} ${above(y).toFixed(1)}`;
  const names = lines.map(({ name }) => shortened(name, 40));
  const label = `Attributions over the outputs, of ${names.join(", ")}`;
  const svg = shape("svg", { role: "img", "aria-label": label, height: HEIGHT },
    shape("text", { class: "title", x: (left + right) / 2, y: HEIGHT - 6, "text-anchor": "middle" }, "output"),
    shape("text", { class: "title", "text-anchor": "middle", transform: `translate(13 ${bottom / 2}) rotate(-90)` }, up),
    shape("line", { class: "zero", x1: left, x2: right, y1: above(0), y2: above(0) }),
    shape("line", { class: "axis", x1: left, x2: right, y1: bottom, y2: bottom }),
    ...heights.map((y, i) => shape("text", { x: left - 6, y: above(y) + 4, "text-anchor": "end" }, sides[i])),
    ...marks.map(([x, text]) => shape("text", { x, y: bottom + 18, "text-anchor": "middle" }, text)),
    ...lines.map(({ values }, i) =>
      shape("path", { class: "curve", stroke: COLOURS[i], d: `M${values.map(point).join("L")}` })));
  return element("div", { class: "panel" }, element("div", { class: "key" }, ...groupKey("", names)), svg);
}

addSection("curves", "How attributions change over the outputs", ["note", "chart"], drawCurves);
details.push(rowCurves);

function drawCurves(content) {
  const section = byId("curves");
  section.hidden = content.n_explained < 2; // the curves of its row say it all
  if (section.hidden) return;
  part("curves", ".note").textContent = "A high line: the feature matters at this output. " +
    "Mean size of the attributions for each output, such as a time. A row opens its own curves below.";
  const lines = curvesOf(content, (output, feature) => output.importance[feature][0]);
  part("curves", ".chart").replaceChildren(curveChart(content, section.clientWidth, lines, "mean size"));
}

// The curves of one row, below its waterfall.
function rowCurves(content, output, row) {
  const width = byId("rows").clientWidth - 48;
  return curveChart(content, width, curvesOf(content, (output, feature) => output.values[feature][row]), "attribution");
}
