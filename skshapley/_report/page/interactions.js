// The strongest pairs: how large their interactions are, and one of them row by row.

addSection("interactions", "What features add together", ["note", "chart", "panels"], drawInteractions);

function drawInteractions(content, output, open) {
  const { pairs } = output;
  byId("interactions").hidden = !pairs.length;
  if (!pairs.length) return;
  const nameOf = ({ features: [a, b] }) => `${content.features[a]} \u00d7 ${content.features[b]}`;
  const several = content.rows.length > 1;
  part("interactions", ".note").textContent =
    "The longer a bar, the more the effect of one feature depends on the other. Mean size of what two features add together beyond what each adds by itself" +
    (several ? ", with 95\u00a0% intervals; below, one pair row by row: its first feature along the axis, its second as colour." : ".");
  const lines = pairs.map((pair) => ({ name: [nameOf(pair)], size: [...pair.importance, null] }));
  part("interactions", ".chart").replaceChildren(barTable("Interactions of pairs", lines));
  const box = part("interactions", ".panels");
  box.replaceChildren();
  if (!several) return;
  const select = element("select", { "aria-label": "Pair of features" });
  options(select, pairs.map(nameOf), chosen.pair);
  const panel = element("div", { class: "panel" }, select);
  select.addEventListener("change", () => {
    chosen.pair = Number(select.value);
    drawPair(panel, content, pairs[chosen.pair], open);
  });
  box.append(panel);
  drawPair(panel, content, pairs[chosen.pair], open);
}

function drawPair(panel, content, pair, open) {
  const [first, second] = pair.features;
  const [column, other] = [content.columns[first], content.columns[second]];
  const [name, partner] = [content.features[first], content.features[second]];
  const svg = scatter(panel.clientWidth, {
    axis: axisOf(column), values: pair.values, errors: null, colours: coloursBy(other, content.rows), open,
    across: name, up: "interaction",
    label: `Interaction of ${name} and ${partner} against ${name}`,
    description: (row) => `${content.rows[row]}: ${name} = ${datum(column, row)}, ${partner} = ${datum(other, row)}, ${number(pair.values[row], true)}`,
  });
  panel.replaceChildren(panel.firstChild, element("div", { class: "key" }, ...keyOf(partner, other)), svg);
}
