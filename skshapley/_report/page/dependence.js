// The value of a feature against its attribution, coloured by the feature that seems to matter with it.

const PANELS = 4;
const MOST_GROUPS = 6;
const LABELS = 8;
const MOST_PLACES = 30; // categories side by side; the rarer ones beyond share the last place
const TURNED_LETTERS = 22; // of labels that stand upright
const chosen = { output: null, panels: [], pair: 0 }; // what a reader has picked for this output

// Places along the axis: numbers where they are, what is missing aside, texts side by side.
function axisOf(column) {
  if (column.kind === "text") {
    const [places, names] = frequent(column);
    const missing = column.codes.some((code) => code < 0);
    const marks = [...names, ...(missing ? [MISSING] : [])].map((name, place) => [place, name]);
    return { x: column.codes.map((code) => (code < 0 ? names.length : places[code])), marks,
      ends: [-0.6, marks.length - 0.4], spread: 0.3, texts: true };
  }
  const [low, high] = extent(column.x);
  const span = high - low || 1;
  const missing = column.x.some((x) => x === null);
  const [few, gap] = fewValues(column.x);
  const apart = gap > span / 12;
  const spread = apart ? 0.2 * gap : 0;
  const aside = low - (apart ? Math.max(gap, 0.25 * span) : 0.12 * span);
  const places = column.kind === "date" ? [low, (low + high) / 2, high] : apart ? few : ticks([low, high], 4);
  const texts = column.kind === "date" ? places.map((x) => date(x).slice(0, 10)) : tickTexts(places);
  const marks = places.map((x, i) => [x, texts[i]]);
  return { x: column.x.map((x) => x ?? aside), marks: missing ? [[aside, MISSING], ...marks] : marks,
    ends: [missing ? aside - 0.04 * span - spread : low - 0.06 * span - spread, high + 0.06 * span + spread], spread };
}

// The place of each category along the axis and the names of the places: all, or the most frequent and the others.
function frequent({ names, codes }) {
  if (names.length <= MOST_PLACES) return [names.map((_, code) => code), names];
  const counts = new Array(names.length).fill(0);
  for (const code of codes) if (code >= 0) counts[code] += 1;
  const kept = names.map((_, code) => code).sort((a, b) => counts[b] - counts[a]).slice(0, MOST_PLACES - 1).sort((a, b) => a - b);
  const places = new Array(names.length).fill(kept.length);
  kept.forEach((code, place) => (places[code] = place));
  return [places, [...kept.map((code) => names[code]), `${names.length - kept.length} others`]];
}

// The values of a column, in order, and the least gap between them: 0 where they are many.
function fewValues(numbers) {
  const values = [...new Set(numbers.filter((x) => x !== null))].sort((a, b) => a - b);
  const many = values.length < 2 || values.length > LABELS;
  return [values, many ? 0 : Math.min(...values.slice(1).map((x, i) => x - values[i]))];
}

// Whether colours tell the values of a column: categories without an order are grey where they are many.
function isColoured(column) {
  return column.kind !== "text" || column.ordered || isGrouped(column);
}

// Whether each category has a colour of its own.
function isGrouped(column) {
  return column !== null && column.kind === "text" && !column.ordered && column.names.length <= MOST_GROUPS;
}

function coloursBy(column, rows) {
  const grouped = isGrouped(column);
  return rows.map((_, row) => {
    if (column === null) return COLOURS[0];
    if (grouped) return COLOURS[column.codes[row]] ?? NEUTRAL;
    return colourOf(level(column, row));
  });
}

function keyOf(name, column) {
  if (column === null) return [];
  if (isGrouped(column)) return groupKey(name, column.names);
  if (!isColoured(column)) return [element("span", {}, `${name}: ${column.names.length} categories, in grey`)];
  return levelKey(name);
}

// Points of a column of the data and numbers; whole texts are in `description`.
function scatter(width, { axis, values, errors, colours, description, label, across: below, up: beside, open }) {
  const bottom = HEIGHT - MARGIN.bottom;
  const letters = Math.min(TURNED_LETTERS, Math.max(...axis.marks.map(([, text]) => text.length)));
  const bound = (side) => values.map((y, row) => y + side * HALF_WIDTH * (errors?.[row] ?? 0));
  const [low, high] = extent([...bound(-1), ...bound(1), 0]);
  const pad = 0.04 * (high - low || 1);
  const heights = ticks([low, high], 5);
  const sides = tickTexts(heights);
  const left = 32 + LETTER * Math.max(...sides.map((text) => text.length)); // the title, and the numbers
  const upright = axis.texts && LETTER * letters > (width - left) / axis.marks.length;
  const height = upright ? bottom + LETTER * letters + 32 : HEIGHT;
  const across = scale(axis.ends, left, width - MARGIN.right);
  const up = scale([low - pad, high + pad], bottom, MARGIN.top);
  const wiggle = (row) => (axis.spread ? axis.spread * (((row * 0.618034) % 1) * 2 - 1) : 0);
  const points = values.map((y, row) => ({
    x: across(axis.x[row] + wiggle(row)), y: up(y), row, colour: colours[row], text: () => description(row),
  }));
  const lines = !errors ? [] : points.map(({ x }, row) => {
    const half = HALF_WIDTH * (errors[row] ?? 0);
    return half ? `M${x.toFixed(1)} ${up(values[row] - half).toFixed(1)}V${up(values[row] + half).toFixed(1)}` : "";
  });
  const middle = (left + width - MARGIN.right) / 2;
  const labels = upright
    ? axis.marks.map(([place, text]) => shape("text", { "text-anchor": "end",
      transform: `translate(${across(place) + 4} ${bottom + 8}) rotate(-90)` }, shortened(text, TURNED_LETTERS)))
    : marksApart(axis.marks, across, width).map(([x, text]) => shape("text", { x, y: bottom + 18, "text-anchor": "middle" }, text));
  const svg = shape("svg", { role: "img", "aria-label": label, height },
    shape("text", { class: "title", x: middle, y: height - 6, "text-anchor": "middle" }, shortened(below, Math.floor(width / LETTER))),
    shape("text", { class: "title", "text-anchor": "middle", transform: `translate(13 ${bottom / 2}) rotate(-90)` },
      shortened(beside, 30)),
    shape("line", { class: "zero", x1: left, x2: width - MARGIN.right, y1: up(0), y2: up(0) }),
    shape("line", { class: "axis", x1: left, x2: width - MARGIN.right, y1: bottom, y2: bottom }),
    ...heights.map((y, i) => shape("text", { x: left - 6, y: up(y) + 4, "text-anchor": "end" }, sides[i])),
    ...labels,
    intervalPath(lines),
    ...cloud(points, dotSize(values.length)));
  pointed(svg, points, open);
  return svg;
}

function drawPanel(panel, content, output, feature, open) {
  const partner = output.partners[feature];
  const column = content.columns[feature];
  const other = partner === null ? null : content.columns[partner];
  const name = content.features[feature];
  const also = (row) => (other ? `, ${content.features[partner]} = ${datum(other, row)}` : "");
  const svg = scatter(panel.clientWidth, {
    axis: axisOf(column), values: output.values[feature], errors: output.errors?.[feature],
    across: name, up: "attribution",
    colours: coloursBy(other, content.rows), open, label: `Attributions of ${name} against its values`,
    description: (row) => `${content.rows[row]}: ${name} = ${datum(column, row)}, ${number(output.values[feature][row], true)}${also(row)}`,
  });
  const key = partner === null ? [] : keyOf(content.features[partner], other);
  const picture = element("div", {}, element("div", { class: "key" }, ...key), svg);
  panel.replaceChildren(panel.firstChild, picture, saveButton(() => picture, name));
}

addSection("dependence", "How attributions follow the data", ["note", "panels"], drawDependence);

function drawDependence(content, output, open) {
  byId("dependence").hidden = content.rows.length < 2;
  if (content.rows.length < 2) return;
  part("dependence", ".note").textContent =
    `From left to right the value of a feature grows; higher points raise the prediction more. Attributions (${output.response}). The colour is the feature that best explains why rows of one value have different attributions, ` +
    `if there is one${output.errors ? "; lines are 95\u00a0% intervals" : ""}. Another feature can be chosen in each panel.`;
  if (chosen.output !== output) Object.assign(chosen, { output, panels: featuresShown(output, true).slice(0, PANELS), pair: 0 });
  const panels = chosen.panels.map((feature, place) => {
    const select = element("select", { "aria-label": `Feature of panel ${place + 1}` });
    options(select, content.features, feature);
    const panel = element("div", { class: "panel" }, select);
    select.addEventListener("change", () => {
      chosen.panels[place] = Number(select.value);
      drawPanel(panel, content, output, chosen.panels[place], open);
    });
    return [panel, feature];
  });
  part("dependence", ".panels").replaceChildren(...panels.map(([panel]) => panel));
  for (const [panel, feature] of panels) drawPanel(panel, content, output, feature, open);
}
