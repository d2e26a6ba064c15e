// Each row as a point, feature by feature: where many are alike, they pile up.

const STRIP = 40; // pixels
const BETWEEN = 6; // pixels by which the zero line reaches beyond a strip, towards the next one
const BIN = 4; // pixels within which points would cover each other

// Offsets from the middle of a strip, for points at these places along it.
function swarm(places) {
  const piles = new Map();
  places.forEach((x, i) => {
    const bin = Math.round(x / BIN);
    piles.set(bin, [...(piles.get(bin) ?? []), i]);
  });
  const offsets = new Float64Array(places.length);
  let most = 1;
  for (const pile of piles.values()) {
    const middle = pile.length % 2 ? 0 : 0.5;
    pile.forEach((i, place) => {
      offsets[i] = (place % 2 ? place + 1 : -place) / 2 - middle;
      most = Math.max(most, Math.abs(offsets[i]));
    });
  }
  const step = Math.min(4, (STRIP / 2 - 3) / most);
  return offsets.map((offset) => offset * step);
}

function beeswarmStrip(content, output, feature, ends, width, open) {
  const values = output.values[feature];
  const errors = output.errors?.[feature];
  const to = scale(ends, 6, width - 6);
  const places = values.map(to);
  const offsets = swarm(places);
  const column = content.columns[feature];
  const hues = coloursBy(column, content.rows);
  const points = places.map((x, row) => ({
    x, y: STRIP / 2 + offsets[row], row, colour: hues[row],
    text: () => `${content.rows[row]}: ${content.features[feature]} = ${datum(column, row)}, ${number(values[row], true)}`,
  }));
  const end = (value) => Math.min(width, Math.max(0, to(value))).toFixed(1);
  const lines = !errors ? [] : points.map(({ y }, row) => {
    const half = HALF_WIDTH * (errors[row] ?? 0);
    return half ? `M${end(values[row] - half)} ${y.toFixed(1)}H${end(values[row] + half)}` : "";
  });
  const [low, high] = extent(values);
  const svg = shape("svg", { role: "img", height: STRIP, "aria-label": `from ${number(low, true)} to ${number(high, true)}` },
    shape("line", { class: "axis", x1: 0, x2: width, y1: STRIP / 2, y2: STRIP / 2 }),
    shape("line", { class: "zero", x1: to(0), x2: to(0), y1: -BETWEEN, y2: STRIP + BETWEEN }),
    intervalPath(lines),
    ...cloud(points, dotSize(values.length)));
  pointed(svg, points, open);
  return svg;
}

function axisStrip(ends, width, title) {
  const to = scale(ends, 6, width - 6);
  const places = ticks(ends, Math.max(4, Math.floor(width / 110)));
  const texts = tickTexts(places);
  return shape("svg", { height: 44, "aria-hidden": "true" },
    shape("text", { class: "title", x: width / 2, y: 38, "text-anchor": "middle" }, shortened(title, Math.floor(width / LETTER))),
    shape("line", { class: "axis", x1: 0, x2: width, y1: 1, y2: 1 }),
    ...places.map((x, i) => shape("text", { x: to(x), y: 18, "text-anchor": "middle" }, texts[i])));
}

addSection("beeswarm", "Each row as a point", ["note", "chart"], drawBeeswarm);

function drawBeeswarm(content, output, open, all) {
  byId("beeswarm").hidden = content.rows.length < 2;
  if (content.rows.length < 2) return;
  const features = featuresShown(output, all);
  const [low, high] = extent(features.flatMap((feature) => output.values[feature]));
  const ends = [Math.min(low, 0), Math.max(high, 0)];
  part("beeswarm", ".note").replaceChildren(
    `A point to the right: this value raises the prediction of its row; the colour shows whether the value is high or low. Attributions (${output.response}) of ${count(content.rows.length, "row")}. ` +
      `${output.errors ? "The line through a point is its 95\u00a0% interval. " : ""}Point at a row to read it, and click to open it; a line drawn around points shows the mean of their rows below.`,
  );
  const box = part("beeswarm", ".chart");
  const named = (feature) => {
    const column = content.columns[feature];
    const key = isGrouped(column) ? element("span", { class: "key" }, ...groupKey("", column.names)) : null;
    return [wrappable(content.features[feature]), key].filter(Boolean);
  };
  const blank = features.map((feature) => ({ name: named(feature), strip: shape("svg", { height: STRIP }) }));
  const table = strips("Attributions of all rows by feature", [...blank, { name: [], strip: shape("svg", { height: 44 }) }]);
  const grey = features.some((feature) => !isColoured(content.columns[feature]));
  const key = element("div", { class: "key" }, ...levelKey("Value of the feature"),
    grey ? element("span", {}, "grey: categories without an order") : null);
  box.replaceChildren(key, table);
  const slots = [...table.querySelectorAll("td")];
  const width = slots[0].clientWidth;
  features.forEach((feature, i) => slots[i].replaceChildren(beeswarmStrip(content, output, feature, ends, width, open)));
  slots.at(-1).replaceChildren(axisStrip(ends, width, `attribution (${output.response})`));
  slots.at(-1).parentElement.setAttribute("aria-hidden", "true");
}
