// Bars around zero, such as means over the rows that were found or selected.

// Bars around zero: lines of [name, value, half of an interval, dashed value].
function signedTable(caption, lines) {
  const ends = ({ value, half = 0, dashed = null }) => [value - half, value + half, ...(dashed === null ? [] : [dashed])];
  const [low, high] = extent([0, ...lines.flatMap(ends)]);
  const span = high - low || 1;
  const at = (x) => `${(1 + (98 * (x - low)) / span).toFixed(2)}%`;
  const wide = (x) => `${((98 * Math.abs(x)) / span).toFixed(2)}%`;
  const bar = (x, kind) => shape("rect", { class: kind, x: at(Math.min(0, x)), width: wide(x), y: "15%", height: "70%" });
  const table = strips(caption, lines.map(({ name, value, half = 0, dashed = null, kind }) => ({
    name, kind, description: number(value, true) + plusMinus(half, value),
    strip: shape("svg", { "aria-hidden": "true" },
      bar(value, value < 0 ? "negative" : "positive"),
      dashed !== null && Math.abs(dashed - value) > 0.003 * span ? bar(dashed, "former") : null,
      shape("line", { class: "zero", x1: at(0), x2: at(0), y1: 0, y2: "100%" }),
      half ? shape("line", { class: "error", x1: at(value - half), x2: at(value + half), y1: "50%", y2: "50%" }) : null),
  })));
  table.classList.add("bars");
  return table;
}

// The mean attributions of a group of rows; the dashed bars are those of all shown rows.
function drawGroup(content, output, group) {
  const all = content.rows.length;
  byId("group").hidden = group.length < 2 || group.length === all;
  if (byId("group").hidden) return;
  const mean = (numbers) => numbers.reduce((sum, x) => sum + x, 0) / numbers.length;
  const lines = content.features.map((name, feature) => {
    const values = output.values[feature];
    const some = group.map((row) => values[row]);
    const value = mean(some);
    const spread = Math.sqrt(some.reduce((sum, x) => sum + (x - value) ** 2, 0) / (some.length - 1));
    return { name: [wrappable(name)], value, half: (HALF_WIDTH * spread) / Math.sqrt(some.length), dashed: mean(values) };
  });
  lines.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  const predictions = mean(group.map((row) => output.predictions[row]));
  part("group", ".note").textContent = `Mean attributions of these ${count(group.length, "row")}; their mean prediction is ` +
    `${number(predictions)}. Dashed: all ${count(all, "row")}; the line is the 95\u00a0% interval of the mean, if the rows are a random sample.`;
  part("group", ".chart").replaceChildren(signedTable("Mean attributions of the rows found", lines.slice(0, FIRST_FEATURES)));
}
