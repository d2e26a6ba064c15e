// The panel of a what-if page: an input for each column, the prediction, its bars and its curve.

const FIRST_INPUTS = 12;
const CURVE_POINTS = 60;
let serial = 0; // of the lists of quantiles
const CAUTION = "Moving one column shows how the model answers. It does not say what would happen if a " +
  "person changed it: other columns would change too, and a model may use a column as a sign of something else.";

function percent(share) {
  return `${(100 * share).toFixed(share > 0.0995 && share < 0.9995 ? 1 : 2)}\u00a0%`;
}

class WhatIf {
  // `ask(request, done)` answers a request now or later, once or twice: predictions, the curve, and
  // perhaps values; and the same of the row as it is in the data, if the request has it as `start`.
  constructor(box, data, ask, { linked = false, last = null } = {}) {
    Object.assign(this, { box, data, ask, linked, row: 0, output: 0, moved: data.order[0], all: false, past: [] });
    this.read();
    if (last?.request?.cells) this.cells = last.request.cells;
    this.build();
    if (last?.answer?.predictions) this.receive(last.answer, last.request.points);
    this.update();
  }

  // Numbers of the row as it is in the data.
  start() {
    return this.data.rows.map((column) => column[this.row]);
  }

  changed(j) {
    return this.cells[j] !== this.start()[j];
  }

  missing(j) {
    return this.data.columns[j].kind === "number" ? this.cells[j] === null : this.cells[j] < 0;
  }

  // What a person calls the value of a column.
  label(j, cell = this.cells[j]) {
    const { kind, values } = this.data.columns[j];
    if (cell === null || (kind !== "number" && cell < 0)) return MISSING;
    return kind === "number" ? plain(cell) : kind === "steps" ? plain(values[cell]) : values[cell];
  }

  outside(j) {
    const { kind, range, values, known } = this.data.columns[j];
    if (this.missing(j)) return false;
    const cell = this.cells[j];
    if (kind === "choice") return !known.includes(cell);
    const value = kind === "steps" ? values[cell] : cell;
    return value < range[0] || value > range[1];
  }

  // The cell for a number that was typed, or for a place of the slider.
  cell(j, value) {
    const column = this.data.columns[j];
    if (column.kind === "number") return column.single ? Math.fround(value) : column.whole ? Math.round(value) : value;
    const distances = column.values.map((x) => Math.abs(x - value));
    return distances.indexOf(Math.min(...distances));
  }

  set(j, cell) {
    this.cells[j] = cell;
    this.moved = j;
    this.update();
  }

  // Remember the inputs before a move that has come to its end.
  keep() {
    if (this.kept.every((cell, j) => cell === this.cells[j])) return;
    this.past.push(this.kept);
    this.kept = [...this.cells];
    this.drawButtons();
  }

  replace(cells) {
    this.cells = [...cells];
    this.kept = [...cells];
    this.rowMenu.value = this.row;
    this.drawInputs();
    this.update();
  }

  goTo(row) {
    this.row = row;
    this.former = null;
    this.past = [];
    this.replace(this.start());
  }

  // Inputs from the link of the page, such as #row=12&age=40.
  read() {
    this.cells = this.start();
    const link = new URLSearchParams(this.linked ? location.hash.slice(1) : "");
    if (link.has("row")) {
      this.row = Math.max(0, this.data.labels.indexOf(link.get("row")));
      this.cells = this.start();
      this.data.columns.forEach(({ name, kind, values }, j) => {
        const text = link.get(name);
        if (text === null) return;
        if (text === MISSING) this.cells[j] = kind === "number" ? null : -1;
        else if (kind === "choice") this.cells[j] = values.includes(text) ? values.indexOf(text) : this.cells[j];
        else if (text.trim() !== "" && Number.isFinite(Number(text))) this.cells[j] = this.cell(j, Number(text));
        this.moved = j;
      });
    }
    this.kept = [...this.cells];
  }

  link() {
    const link = new URLSearchParams({ row: this.data.labels[this.row] });
    this.data.columns.forEach(({ name, kind, values }, j) => {
      if (!this.changed(j)) return;
      const value = kind === "number" ? this.cells[j] : values[this.cells[j]];
      link.set(name, this.missing(j) ? MISSING : value);
    });
    return `#${link}`;
  }

  build() {
    const { data } = this;
    this.rowMenu = element("select", { change: (event) => this.goTo(Number(event.target.value)) });
    options(this.rowMenu, data.labels, this.row);
    this.undo = element("button", { type: "button", click: () => this.replace(this.past.pop()) }, "Undo");
    this.back = element("button", { type: "button", click: () => {
      this.past.push([...this.cells]);
      this.replace(this.start());
    } }, "Back to the row");
    this.anchor = element("a", { href: "#" }, "Link to these inputs");
    const outputs = element("select", { change: (event) => this.show(Number(event.target.value)) });
    if (data.names) options(outputs, data.names, this.output);
    const picker = data.names && !this.linked ? element("label", {}, "Output ", outputs) : null;
    this.inputs = element("div", { class: "inputs" });
    this.more = element("button", { type: "button", click: () => {
      this.all = !this.all;
      this.drawInputs();
    } });
    this.answer = element("div", { class: "answer", role: "status" });
    this.bars = element("div");
    this.curveTitle = element("p", { class: "note" });
    this.curve = element("div", { class: "panel" });
    this.note = element("p", { class: "note" });
    this.box.replaceChildren(
      element("p", { class: "controls" }, element("label", {}, "Row ", this.rowMenu), picker, this.undo, this.back, this.linked ? this.anchor : null),
      element("div", { class: "what-if" },
        element("div", {}, this.inputs, this.more),
        element("div", {}, this.answer, this.bars, this.curveTitle, this.curve)),
      this.note, element("p", { class: "note" }, CAUTION));
    this.drawInputs();
  }

  show(output) {
    if (output !== this.output) this.former = null;
    this.output = output;
    this.update();
  }

  drawInputs() {
    const { order, columns } = this.data;
    this.more.hidden = order.length <= FIRST_INPUTS + 1;
    this.more.textContent = this.all ? "The first columns only" : `All ${order.length} columns`;
    const shown = this.all || this.more.hidden ? order : order.slice(0, FIRST_INPUTS);
    this.lines = new Map(shown.map((j) => [j, columns[j].kind === "choice" ? this.menu(j) : this.slider(j)]));
    this.inputs.replaceChildren(...[...this.lines.values()].map(({ line }) => line));
  }

  menu(j) {
    const { name, values, missing } = this.data.columns[j];
    const select = element("select", { "aria-label": name, change: () => {
      this.set(j, Number(select.value));
      this.keep();
    } });
    select.append(...values.map((value, code) => element("option", { value: code }, value)));
    if (missing || this.cells[j] < 0) select.append(element("option", { value: -1 }, MISSING));
    return this.line(j, [select], () => (select.value = this.cells[j]));
  }

  slider(j) {
    const { name, kind, values, quantiles, whole, missing } = this.data.columns[j];
    const steps = kind === "steps";
    const [low, high] = steps ? [0, values.length - 1] : [quantiles[0], quantiles.at(-1)];
    const ends = { min: low, max: high, step: steps || whole ? 1 : (high - low) / 200 || "any" };
    const keep = () => this.keep();
    const marks = element("datalist", { id: `quantiles-${serial++}` },
      ...(steps ? [] : quantiles.slice(1, -1).map((value) => element("option", { value }))));
    const range = element("input", { type: "range", ...ends, list: marks.id, "aria-label": name, change: keep,
      input: () => this.set(j, steps ? Number(range.value) : this.cell(j, Number(range.value))) });
    const box = element("input", { type: "number", step: "any", "aria-label": `${name}, as a number`, change: () => {
      if (box.value !== "") this.set(j, this.cell(j, Number(box.value)));
      keep();
    } });
    const lost = element("input", { type: "checkbox", "aria-label": `${name} is missing`, change: () => {
      const value = kind === "number" ? quantiles[2] : Math.floor(values.length / 2);
      this.set(j, !lost.checked ? (steps ? value : this.cell(j, value)) : kind === "number" ? null : -1);
      keep();
    } });
    const check = missing || this.missing(j) ? element("label", { class: "lost" }, lost, MISSING) : null;
    return this.line(j, [range, box, marks, check], () => {
      const cell = this.cells[j];
      lost.checked = this.missing(j);
      range.setAttribute("aria-valuetext", this.label(j));
      if (lost.checked) return (box.value = "");
      const value = steps ? values[cell] : cell;
      if (document.activeElement !== box || Number(box.value) !== value) box.value = Number(value.toPrecision(6));
      if (Number(range.value) !== cell) range.value = cell;
      return value;
    });
  }

  line(j, parts, show) {
    const marks = element("span", { class: "marks" });
    const line = element("div", { class: "input" }, element("span", { class: "name" }, wrappable(this.data.columns[j].name)), ...parts, marks);
    return { line, marks, show };
  }

  update() {
    for (const [j, { line, marks, show }] of this.lines) {
      show();
      line.classList.toggle("changed", this.changed(j));
      marks.textContent = [
        this.changed(j) ? `was ${this.label(j, this.start()[j])}` : "",
        this.outside(j) ? "outside of the background\u2019s range" : "",
      ].filter(Boolean).join(", ");
    }
    this.drawButtons();
    const points = this.curvePoints();
    const start = this.former?.values ? null : this.start();
    const request = { cells: [...this.cells], output: this.output, column: this.moved, points, start };
    this.ask(request, (answer) => this.receive(answer, points));
  }

  receive(answer, points) {
    this.former = answer.former ?? this.former;
    this.draw(answer, points);
  }

  drawButtons() {
    this.undo.disabled = !this.past.length;
    this.back.disabled = !this.cells.some((_, j) => this.changed(j));
    if (!this.linked) return;
    const link = this.link();
    this.anchor.href = link;
    if (this.cells.some((_, j) => this.changed(j)) || this.row) history.replaceState(null, "", link);
  }

  // The values of the moved column along which the curve is drawn.
  curvePoints() {
    const { kind, values, quantiles, whole } = this.data.columns[this.moved];
    if (kind !== "number") return values.map((_, code) => code);
    const cell = this.cells[this.moved];
    const low = Math.min(quantiles[0], cell ?? Infinity);
    const high = Math.max(quantiles.at(-1), cell ?? -Infinity);
    const places = Array.from({ length: CURVE_POINTS + 1 }, (_, i) => low + ((high - low) * i) / CURVE_POINTS);
    return [...new Set(places.map((place) => this.cell(this.moved, whole ? Math.round(place) : place)))];
  }

  // Class probabilities of a prediction, if the model has them.
  shares(predictions) {
    const { probabilities } = this.data;
    return probabilities && PROBABILITIES[probabilities.kind](predictions);
  }

  // What the page shows large: the probability of the explained class, or the response itself.
  headline(predictions) {
    const shares = this.shares(predictions);
    const place = shares && (shares.length === predictions.length ? this.output : shares.length - 1);
    return shares ? { text: percent(shares[place]), name: `probability of ${this.data.probabilities.names[place]}`, value: shares[place] }
      : { text: number(predictions[this.output], false, 4), name: this.response, value: predictions[this.output] };
  }

  get response() {
    return this.data.responses[Math.min(this.output, this.data.responses.length - 1)];
  }

  draw(answer, points) {
    const { data, former } = this;
    const { text, name } = this.headline(answer.predictions);
    const before = former && this.cells.some((_, j) => this.changed(j))
      ? ` was ${this.headline(former.predictions).text} in row ${data.labels[this.row]}` : "";
    const shares = this.shares(answer.predictions);
    const direct = data.probabilities && !["identity", "complement"].includes(data.probabilities.kind);
    this.answer.replaceChildren(
      element("p", {}, element("span", { class: "large" }, text), ` ${name}`, element("span", { class: "note" }, before)),
      element("p", { class: "note" }, [
        ...(shares ? data.probabilities.names.map((label, place) => `${label}: ${percent(shares[place])}`) : []),
        ...(direct ? [`${this.response}: ${number(answer.predictions[this.output], false, 4)}`] : []),
      ].join(" \u00b7 ")));
    if (answer.values) this.drawBars(answer);
    this.bars.classList.toggle("waiting", !answer.values);
    if (answer.curve) this.drawCurve(answer, points);
    this.note.textContent = `Bars: contributions to the ${this.response}, from the mean ${number(answer.base ?? former?.base ?? null)} to the ` +
      `prediction; dashed: the row as it is in the data; the line at the end of a bar: 95\u00a0% interval${data.interval}`;
    this.box.dataset.drawn = JSON.stringify(answer.predictions);
  }

  drawBars({ values, errors }) {
    const { columns, bars } = this.data;
    const before = this.former?.values ?? values;
    const size = (j) => Math.max(Math.abs(values[j]), Math.abs(before[j]));
    const order = [...this.data.bars.keys()].sort((i, j) => size(j) - size(i));
    const shown = order.length <= FIRST_FEATURES + 1 ? order : order.slice(0, FIRST_FEATURES);
    const half = (j) => (errors?.[j] ? HALF_WIDTH * errors[j] : 0);
    const table = signedTable("Contributions of the columns", shown.map((j) => ({
      name: [element("span", {}, wrappable(this.data.bars[j])),
        ...(columns.length === bars.length ? [element("span", { class: "value" }, ` = ${this.label(j)}`)] : [])],
      value: values[j], half: half(j), dashed: before[j], kind: this.changed(j) ? "changed" : undefined,
    })));
    const others = order.slice(shown.length);
    const total = others.reduce((sum, j) => sum + values[j], 0);
    this.bars.replaceChildren(table, ...(others.length ? [element("p", { class: "note" }, `${count(others.length, "other column")} add ${number(total, true)}.`)] : []));
  }

  drawCurve(answer, points) {
    const j = this.moved;
    const { kind, values, name } = this.data.columns[j];
    const heights = answer.curve.map((predictions) => this.headline(predictions).value);
    const now = this.headline(answer.predictions);
    const numeric = kind !== "choice";
    const place = (cell) => (kind === "steps" ? values[cell] : cell);
    this.curveTitle.replaceChildren(`The ${now.name} along `, element("b", {}, wrappable(name)), "; all other columns stay as set.");
    const width = this.curve.clientWidth || 480;
    const labels = numeric ? [] : values.map((value) => shortened(value, 16));
    const bottom = 150;
    const longest = Math.max(0, ...labels.map((label) => label.length));
    const upright = longest * LETTER > (width - 60) / Math.max(1, labels.length);
    const height = bottom + (upright && !numeric ? 12 + longest * LETTER : 24);
    const across = scale(extent(points.map(place)), 56, width - 12);
    const up = scale(extent([...heights, now.value]), bottom - 8, 10);
    const marks = ticks(extent([...heights, now.value]), 3);
    const line = points.map((cell, i) => `${i ? "L" : "M"}${across(place(cell)).toFixed(1)} ${up(heights[i]).toFixed(1)}`).join("");
    const names = numeric
      ? ticks(extent(points.map(place)), Math.max(3, Math.floor(width / 110))).map((x) => shape("text", { x: across(x), y: bottom + 18, "text-anchor": "middle" }, plain(x)))
      : labels.map((label, code) => (upright
        ? shape("text", { transform: `translate(${across(code) + 4} ${bottom + 8}) rotate(-90)`, "text-anchor": "end" }, label)
        : shape("text", { x: across(code), y: bottom + 18, "text-anchor": "middle" }, label)));
    this.curve.replaceChildren(shape("svg", { role: "img", height, "aria-label": `The ${now.name} from ${number(Math.min(...heights))} to ${number(Math.max(...heights))} along ${name}` },
      ...marks.map((y) => shape("line", { class: "axis", x1: 56, x2: width - 12, y1: up(y), y2: up(y) })),
      ...tickTexts(marks).map((text, i) => shape("text", { x: 50, y: up(marks[i]) + 4, "text-anchor": "end" }, text)),
      ...names,
      numeric ? shape("path", { class: "curve moved", d: line })
        : shape("path", { class: "dots moved", "stroke-width": 8, d: points.map((code, i) => `M${across(code).toFixed(1)} ${up(heights[i]).toFixed(1)}h0`).join("") }),
      this.missing(j) ? null : shape("circle", { class: "mark", cx: across(place(this.cells[j])), cy: up(now.value), r: 5 })));
  }
}
