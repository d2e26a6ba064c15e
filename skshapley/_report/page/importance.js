// The mean absolute attribution of each feature over all rows, with its interval.

// Features by importance in the chosen output: the first ones, or all.
function featuresShown(output, all) {
  const order = output.importance.map((_, feature) => feature);
  order.sort((a, b) => output.importance[b][0] - output.importance[a][0]);
  return all ? order : order.slice(0, FIRST_FEATURES);
}

function barStrip([size, error, wider, refit], share, description) {
  const half = HALF_WIDTH * (error ?? 0);
  const more = Math.hypot(half, HALF_WIDTH * (wider ?? 0));
  const most = Math.hypot(more, HALF_WIDTH * (refit ?? 0));
  const range = (reach, kind) =>
    reach > 0 ? shape("line", { class: kind, x1: share(size - reach), x2: share(size + reach), y1: "50%", y2: "50%" }) : null;
  return shape("svg", { role: "img", "aria-label": description },
    shape("rect", { class: "bar", x: 0, width: share(size), y: "15%", height: "70%" }),
    most > more ? range(most, "refit") : null, more > half ? range(more, "wider") : null, range(half, "error"));
}

// Lines of [size, standard error, background error, refit error] with names, as bars on one scale.
function barTable(caption, lines) {
  const reach = ([size, ...errors]) => size + HALF_WIDTH * Math.hypot(...errors.map((error) => error ?? 0));
  const most = Math.max(...lines.map(({ size }) => reach(size))) || 1;
  const share = (x) => `${((100 * Math.max(0, x)) / most).toFixed(2)}%`;
  const table = strips(caption, lines.map(({ name, size }) => {
    const half = plusMinus(HALF_WIDTH * size[1], size[0]);
    return { name, description: `${number(size[0])}${half}`, strip: barStrip(size, share, `mean size ${number(size[0])}${half}`) };
  }));
  table.classList.add("bars");
  return table;
}

const bars = [featureBars]; // pictures of all rows

function featureBars(content, output, all) {
  return importanceTable(content, output, featuresShown(output, all).map((feature) => ({
    name: [wrappable(content.features[feature])], size: output.importance[feature],
  })));
}

function importanceTable(content, output, lines) {
  const others = { name: [`${count(content.n_others, "other feature")}, summed`], size: [output.others, null, null] };
  return barTable("Importance of features", content.n_others ? [...lines, others] : lines);
}

addSection("importance", "What matters", ["note", "chart"], drawImportance);
const allFeatures = element("button", { type: "button", id: "all-features" });
byId("importance").append(element("p", {}, allFeatures));

function drawImportance(content, output, open, all) {
  byId("importance").hidden = content.n_explained < 2; // its waterfall says it all
  part("importance", ".note").textContent =
    `The longer a bar, the more its feature moves the predictions, up or down. Mean size of the attributions (${output.response}) over ${count(content.n_explained, "row")}. ` +
    "\u00b1 and the line show the 95\u00a0% interval of a larger population, if these rows are a random sample of it" +
    (output.importance.some(([, , wider]) => wider > 0) ? "; the pale line takes the background as a sample, too" : "") +
    (output.importance.some(([, , , refit]) => refit > 0) ?
      "; the widest line adds what other training data of the same size would change" : "") + "." + (content.groups.length ? " A group unfolds into its members." : "");
  part("importance", ".chart").replaceChildren(...bars.map((picture) => picture(content, output, all)));
  allFeatures.hidden = content.features.length <= FIRST_FEATURES;
  allFeatures.setAttribute("aria-pressed", String(all));
  allFeatures.textContent = all ? `Show the strongest ${FIRST_FEATURES} features` : `Show all ${content.features.length} features`;
}
