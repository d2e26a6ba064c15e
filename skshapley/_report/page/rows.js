// The table of rows: searched, sorted, a page at a time; each row opens its waterfall.

const PAGE = 25;
const REASONS = 3;
const TITLE = 32; // letters of a name above its column; the choice above has all of them
const labelColumns = []; // functions that return a column of the table
const collator = new Intl.Collator("en", { numeric: true });

class Rows {
  constructor(content) {
    this.content = content;
    this.opened = new Set();
    this.sort = { key: null, up: true };
    this.page = 0;
    this.feature = 0;
    this.found = content.rows.map((_, row) => row);
    this.cells = content.rows.map((name, row) => [name, ...content.columns
      .filter((column) => column.kind === "text").map((column) => datum(column, row))].join("\n").toLowerCase());
    options(byId("column"), content.features, 0);
    byId("column").addEventListener("change", (event) => {
      this.feature = Number(event.target.value);
      this.drawFilter();
      this.change({ page: 0 });
    });
    for (const id of ["least", "most"]) byId(id).addEventListener("input", () => this.change({ page: 0 }));
    byId("download").addEventListener("click", () => this.download());
    this.drawFilter();
    byId("all-rows").addEventListener("click", () => this.select([]));
    byId("search").addEventListener("input", () => this.change({ page: 0 }));
    byId("previous").addEventListener("click", () => this.change({ page: this.page - 1 }));
    byId("next").addEventListener("click", () => this.change({ page: this.page + 1 }));
  }

  change(state) {
    Object.assign(this, state);
    this.draw(this.output);
  }

  // Inputs that choose among the values of the feature: a category, or the ends of a range.
  drawFilter() {
    const column = this.content.columns[this.feature];
    const again = { input: () => this.change({ page: 0 }) };
    const bound = (text) => element("label", {}, text, element("input", { type: "number", step: "any", ...again }));
    if (column.kind === "number") return byId("filter").replaceChildren(element("span", { class: "range" }, bound("from "), bound("to ")));
    if (column.kind !== "text") return byId("filter").replaceChildren();
    const select = element("select", { "aria-label": "Value of the feature", change: again.input });
    options(select, ["all values", ...column.names], 0);
    byId("filter").replaceChildren(select);
  }

  // Whether the filters let a row through.
  passes(row) {
    const { content, output, feature } = this;
    const within = (value, [least, most]) =>
      (least.value === "" || (value !== null && value >= Number(least.value))) && (most.value === "" || (value !== null && value <= Number(most.value)));
    if (this.selected && !this.selected.has(row)) return false;
    if (!within(output.predictions[row], [byId("least"), byId("most")])) return false;
    const column = content.columns[feature];
    if (column.kind === "number") return within(column.x[row], byId("filter").querySelectorAll("input"));
    const select = byId("filter").querySelector("select");
    return select === null || select.value === "0" || column.codes[row] === Number(select.value) - 1;
  }

  // The rows that are found, with all features and attributions, as a CSV file.
  download() {
    const { content, output } = this;
    const cell = (value) => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
    const raw = (column, row) => (column.kind === "number" ? String(column.x[row] ?? "") : datum(column, row));
    const named = (noun) => content.features.map((name) => `${noun}: ${name}`);
    const at = (numbers, row) => content.features.map((_, feature) => numbers[feature][row]);
    const head = ["row", "prediction", "base value", ...content.features, ...named("attribution"), ...(output.errors ? named("standard error") : [])];
    const lines = this.found.map((row) => [content.rows[row], output.predictions[row], output.base[row],
      ...content.columns.map((column) => raw(column, row)), ...at(output.values, row), ...(output.errors ? at(output.errors, row) : [])]);
    const text = [head, ...lines].map((line) => line.map((value) => cell(String(value ?? ""))).join(",")).join("\n");
    save(text, "text/csv", "explanation.csv");
  }

  // The columns: title, what sorts them, and what stands in their cells.
  columns() {
    const { content, output, feature } = this;
    const column = content.columns[feature];
    const name = content.features[feature];
    const raw = column.kind === "text" && !column.ordered
      ? (row) => (column.codes[row] < 0 ? null : datum(column, row))
      : (row) => (column.kind === "text" ? (column.codes[row] < 0 ? null : column.codes[row]) : column.x[row]);
    return [
      { key: "row", title: "Row", kind: null, of: (row) => content.rows[row] },
      { key: "prediction", title: "Prediction", of: (row) => output.predictions[row], text: (row) => predicted(output, output.predictions[row]) },
      ...labelColumns.map((column) => column(content)),
      { key: "data", title: shortened(name, TITLE), kind: column.kind === "text" ? null : "number", of: raw, text: (row) => datum(column, row) },
      { key: "value", title: "Its attribution", of: (row) => output.values[feature][row], text: (row) => number(output.values[feature][row], true) },
      ...(output.errors ? [{ key: "error", title: "Its error", of: (row) => output.errors[feature][row],
        text: (row) => number(output.errors[feature][row]) }] : []),
    ];
  }

  search() {
    const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    this.found = this.content.rows.map((_, row) => row)
      .filter((row) => words.every((word) => this.cells[row].includes(word)) && this.passes(row));
    const column = this.columns().find(({ key }) => key === this.sort.key);
    if (!column) return;
    const sign = this.sort.up ? 1 : -1;
    this.found.sort((a, b) => {
      const [x, y] = [column.of(a), column.of(b)];
      if (x === null || y === null) return (x === null) - (y === null); // missing ones last, both ways
      return sign * (typeof x === "string" ? collator.compare(x, y) : x - y) || a - b;
    });
  }

  reasons(row) {
    const { content, output } = this;
    return content.features.map((name, feature) => [name, output.values[feature][row]])
      .sort((a, b) => Math.abs(b[1]) - Math.abs(a[1])).slice(0, REASONS)
      .map(([name, value]) => `${shortened(name, 40)}\u00a0${number(value, true)}`).join(", ");
  }

  header({ key, title, kind = "number" }) {
    const sorted = this.sort.key === key;
    const sort = () => {
      const up = sorted ? !this.sort.up : key === "row" || key === "data";
      this.change({ sort: { key, up }, page: 0 });
      part("rows", `button[data-key=${key}]`).focus();
    };
    const mark = sorted ? (this.sort.up ? "\u00a0\u25B4" : "\u00a0\u25BE") : "\u00a0\u2195";
    return element("th", { scope: "col", class: kind, "aria-sort": sorted ? (this.sort.up ? "ascending" : "descending") : "none" },
      element("button", { type: "button", "data-key": key, click: sort }, title,
        element("span", { class: "mark", "aria-hidden": "true" }, mark)));
  }

  line(row, columns) {
    const { content } = this;
    const open = this.opened.has(row);
    const button = element("button", { type: "button", class: "opener", "aria-expanded": String(open), "data-row": row },
      element("span", {}, content.rows[row]));
    const line = element("tr", {}, element("th", { scope: "row" }, button),
      ...columns.slice(1).map(({ text, kind = "number" }) => element("td", { class: kind }, text(row))),
      element("td", { class: "reasons" }, this.reasons(row)));
    button.addEventListener("click", () => {
      const opening = !this.opened.has(row);
      if (opening) this.opened.add(row);
      else this.opened.delete(row);
      button.setAttribute("aria-expanded", String(opening));
      if (opening) line.after(this.detail(row));
      else line.nextSibling.remove();
    });
    return open ? [line, this.detail(row)] : [line];
  }

  detail(row) {
    const { content, output } = this;
    const box = element("td", { colspan: this.columns().length + 1 });
    const draw = (all) => {
      const shown = waterfallLines(content, output, row, false).length;
      const more = content.features.length > shown && element("button", { type: "button", click: () => {
        draw(!all);
        box.lastChild.focus();
      } }, all ? "The strongest only" : `All ${content.features.length} features`);
      const picture = element("div", {}, ...details.map((picture) => picture(content, output, row, all)));
      box.replaceChildren(...[picture, saveButton(() => picture, `row ${content.rows[row]}`), more].filter(Boolean));
    };
    draw(false);
    return element("tr", { class: "detail" }, box);
  }

  // Keep the rows within a line that was drawn; without rows, show all again.
  select(rows) {
    this.selected = rows.length ? new Set(rows) : null;
    byId("all-rows").hidden = !rows.length;
    this.change({ page: 0 });
  }

  // Show a row that was pointed at elsewhere.
  open(row) {
    this.opened.add(row);
    this.search();
    if (!this.found.includes(row)) {
      this.select([]);
      for (const id of ["search", "least", "most"]) byId(id).value = "";
      this.drawFilter();
    }
    this.search();
    this.change({ page: Math.floor(this.found.indexOf(row) / PAGE) });
    const button = part("rows", `button[data-row="${row}"]`);
    button.scrollIntoView({ block: "center" });
    button.focus();
  }

  draw(output) {
    this.output = output;
    this.search();
    const { found } = this;
    drawGroup(this.content, output, found);
    const pages = Math.max(1, Math.ceil(found.length / PAGE));
    this.page = Math.min(Math.max(0, this.page), pages - 1);
    const columns = this.columns();
    const shown = found.slice(this.page * PAGE, (this.page + 1) * PAGE);
    const head = element("tr", {}, ...columns.map((column) => this.header(column)),
      element("th", { scope: "col" }, element("span", { class: "title" }, "Largest attributions")));
    byId("table").replaceChildren(element("table", { "aria-label": "Rows" }, element("thead", {}, head),
      element("tbody", {}, ...shown.flatMap((row) => this.line(row, columns)))));
    byId("previous").disabled = this.page === 0;
    byId("next").disabled = this.page === pages - 1;
    byId("previous").hidden = byId("next").hidden = pages === 1;
    const first = this.page * PAGE + 1;
    byId("place").textContent = found.length
      ? `${first.toLocaleString("en")} to ${(first + shown.length - 1).toLocaleString("en")} of ${count(found.length, "row")}`
      : "no row found";
  }
}
