// One row: from the base value up and down to the prediction, the largest attribution on top.

const details = [waterfall]; // pictures of one row

// Lines from top to bottom, with where their bars start and end.
function waterfallLines(content, output, row, all, steps = featureSteps(content, output, row)) {
  const base = output.base[row];
  bySize(steps);
  const most = steps.length <= FIRST_FEATURES + 1 ? steps.length : FIRST_FEATURES;
  const kept = all ? steps : steps.slice(0, most).filter(({ value }, place) => value !== 0 || place === 0);
  const rest = steps.slice(kept.length);
  const sum = (lines) => lines.reduce((total, { value }) => total + value, 0);
  const n = rest.reduce((total, step) => total + (step.n ?? 1), content.n_others);
  const lines = [...kept];
  if (n) {
    const others = content.n_others ? output.values.at(-1)[row] : 0;
    lines.push({ name: count(n, "other feature"), value: sum(rest) + others });
  }
  if (output.gap) lines.push({ name: "unexplained", value: output.predictions[row] - base - sum(lines), kind: "unexplained" });
  return placed(lines, base);
}

// The attributions of a row from some numbers of an output, such as those of its features.
function stepAt(numbers, place, row) {
  const at = (errors) => errors?.[place][row] ?? null;
  return { value: numbers.values[place][row], error: at(numbers.errors), wider: at(numbers.wider), refit: at(numbers.refit) };
}

function featureSteps(content, output, row) {
  return content.features.map((name, feature) =>
    ({ name, data: datum(content.columns[feature], row), ...stepAt(output, feature, row) }));
}

function bySize(steps) {
  return steps.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
}

// Lines with where their bars start and end, from the last line up; members are within the bar of their group.
function placed(lines, start) {
  let end = start;
  for (const line of lines.toReversed()) {
    line.start = end;
    end += line.value;
    line.end = end;
  }
  return lines.flatMap((line) => [line, ...placed(line.members ?? [], line.start)]);
}

function reaches({ error = null, wider = null, refit = null }) {
  const half = HALF_WIDTH * (error ?? 0);
  const more = Math.hypot(half, HALF_WIDTH * (wider ?? 0));
  return [half, more, Math.hypot(more, HALF_WIDTH * (refit ?? 0))];
}

function stepStrip(line, at) {
  const [half, more, most] = reaches(line);
  const whole = line.members?.length > 0;
  const kind = (line.kind ?? (line.value < 0 ? "negative" : "positive")) + (whole ? " whole" : "");
  const below = at(whole ? line.end : line.start);
  const left = Math.min(line.start, line.end);
  const width = `${(parseFloat(at(Math.max(line.start, line.end))) - parseFloat(at(left))).toFixed(2)}%`;
  const range = (reach, name) =>
    reach > 0 ? shape("line", { class: name, x1: at(line.end - reach), x2: at(line.end + reach), y1: "50%", y2: "50%" }) : null;
  return shape("svg", { "aria-hidden": "true" },
    shape("line", { class: "step", x1: below, x2: below, y1: "50%", y2: "100%" }),
    shape("line", { class: "step", x1: at(line.end), x2: at(line.end), y1: 0, y2: "50%" }),
    shape("rect", { class: kind, x: at(left), width, y: "15%", height: "70%" }),
    most > more ? range(most, "refit") : null, more > half ? range(more, "wider") : null, range(half, "error"));
}

function endStrip(value, at, top) {
  return shape("svg", { "aria-hidden": "true" },
    shape("line", { class: "step", x1: at(value), x2: at(value), y1: top ? "50%" : 0, y2: top ? "100%" : "50%" }),
    shape("circle", { class: "mark", cx: at(value), cy: "50%", r: 4 }));
}

function waterfall(content, output, row, all) {
  return waterfallTable(content, output, row, waterfallLines(content, output, row, all));
}

function waterfallTable(content, output, row, lines) {
  const [base, prediction] = [output.base[row], output.predictions[row]];
  const [low, high] = extent([base, prediction, ...lines.flatMap((line) => {
    const [, , most] = reaches(line);
    return [line.start, line.end - most, line.end + most];
  })]);
  const span = high - low || 1;
  const at = (x) => `${(1.5 + (97 * (x - low)) / span).toFixed(2)}%`;
  const description = (line) => {
    const [half] = reaches(line);
    return number(line.value, true) + plusMinus(half, line.value);
  };
  const name = (line) => line.cell ?? (line.data === undefined ? [line.name] : [wrappable(line.name), element("span", { class: "value" }, ` = ${line.data}`)]);
  const table = strips(`From the base value to the prediction of row ${content.rows[row]}`, [
    { name: ["prediction"], strip: endStrip(prediction, at, true), description: predicted(output, prediction), kind: "end" },
    ...lines.map((line) => ({ name: name(line), strip: stepStrip(line, at), description: description(line) })),
    { name: ["base value"], strip: endStrip(base, at, false), description: predicted(output, base), kind: "end" },
  ]);
  table.classList.add("bars");
  return table;
}
