// One picture as an SVG file: its texts and shapes where the page has them, with their colours.

const PAINT = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "stroke-linecap", "fill-opacity", "font-size", "font-weight", "text-anchor"];
const PAD = 12; // pixels around the picture

function asPicture(box) {
  const frame = box.getBoundingClientRect();
  const at = (left, top) => `translate(${(left - frame.left + PAD).toFixed(1)} ${(top - frame.top + PAD).toFixed(1)})`;
  const [width, height] = [frame.width + 2 * PAD, frame.height + 2 * PAD];
  const picture = shape("svg", { xmlns: NAMESPACE, width, height, viewBox: `0 0 ${width} ${height}`, "font-family": "sans-serif" },
    shape("rect", { width: "100%", height: "100%", fill: getComputedStyle(document.body).backgroundColor }));
  for (const svg of box.querySelectorAll("svg")) picture.append(drawing(svg, at));
  const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (!node.parentElement.closest("svg, button:not([aria-expanded]), select")) picture.append(...lettering(node, at));
  }
  return new XMLSerializer().serializeToString(picture);
}

function drawing(svg, at) {
  const { left, top, width, height } = svg.getBoundingClientRect();
  const copy = svg.cloneNode(true);
  const [originals, copies] = [svg.querySelectorAll("*"), copy.querySelectorAll("*")];
  originals.forEach((original, place) => {
    const style = getComputedStyle(original);
    for (const name of PAINT) copies[place].setAttribute(name, style.getPropertyValue(name));
    copies[place].removeAttribute("class");
  });
  for (const [name, value] of Object.entries({ width, height, overflow: "visible" })) copy.setAttribute(name, value);
  return shape("g", { transform: at(left, top) }, copy);
}

// The lines in which the page shows a text.
function lettering(node, at) {
  const range = document.createRange();
  const { color, fontSize, fontWeight } = getComputedStyle(node.parentElement);
  const lines = new Map();
  [...node.data].forEach((letter, place) => {
    range.setStart(node, place);
    range.setEnd(node, place + 1);
    const box = range.getBoundingClientRect();
    if (!box.width) return;
    const line = lines.get(box.top) ?? { left: box.left, bottom: box.bottom, text: "" };
    lines.set(box.top, { ...line, text: line.text + letter });
  });
  return [...lines.values()].map(({ left, bottom, text }) => shape("text", {
    transform: at(left, bottom - 0.3 * parseFloat(fontSize)), fill: color, "font-size": fontSize, "font-weight": fontWeight,
  }, text));
}

function saveButton(box, name) {
  return element("button", { type: "button", class: "save", "aria-label": `Save the picture of ${name} as SVG`,
    click: () => save(asPicture(box()), "image/svg+xml", `${name.replace(/[^\p{L}\p{N}]+/gu, "-")}.svg`) }, "Save as SVG");
}

// A button below the picture of each section.
function addSaveButtons() {
  for (const chart of document.querySelectorAll("main section .chart")) {
    const section = chart.closest("section");
    chart.after(saveButton(() => chart, section.querySelector("h2").textContent));
  }
}
