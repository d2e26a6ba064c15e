// Two explanations: each feature's mean size in both, and the rows that differ most.

addSection("beside", "Where the two explanations differ", ["note", "chart", "most"], drawBeside);

function drawBeside(content, output, open) {
  const other = content.beside[content.outputs.indexOf(output)];
  const order = [...content.features.keys()].sort((a, b) => other.differences[b] - other.differences[a]).slice(0, FIRST_FEATURES);
  part("beside", ".note").textContent = "A long bar: the attributions of this feature differ much between the two explanations. " +
    "Mean size of the difference; in brackets, the mean size in this report and in the other.";
  const sizes = (feature) => ` (${number(output.importance[feature][0])}, ${number(other.sizes[feature])})`;
  part("beside", ".chart").replaceChildren(barTable("Differences by feature", order.map((feature) => ({
    name: [wrappable(content.features[feature]), element("span", { class: "value" }, sizes(feature))],
    size: [other.differences[feature], null, null],
  }))));
  const rows = [...content.rows.keys()].sort((a, b) => other.rows[b] - other.rows[a]).slice(0, 5);
  part("beside", ".most").replaceChildren(element("p", { class: "note" }, "Rows that differ most, with both predictions:"),
    element("ul", {}, ...rows.map((row) => element("li", {},
      element("button", { type: "button", click: () => open(row) }, content.rows[row]),
      ` ${predicted(output, output.predictions[row])} here, ${predicted(output, other.predictions[row])} there`))));
}
