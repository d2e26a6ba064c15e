// What all pictures share: scales, ticks, colours, and clouds of points that can be pointed at.

const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"]; // Okabe and Ito
const NEUTRAL = "#8C8C8C";
const LEVELS = blended([[0x24, 0x68, 0xb4], [0x7b, 0x52, 0xb9], [0xcc, 0x44, 0x78], [0xf0, 0x87, 0x2c]], 12);
const FIRST_FEATURES = 10; // bars that are shown at once
const LETTER = 8; // pixels; digits of wide fonts have 8.1
const HEIGHT = 240; // pixels
const MARGIN = { right: 8, top: 8, bottom: 48 };
const LEAST_DRAG = 6; // pixels
const REACH = 14; // pixels within which a point is pointed at

function blended(stops, n) {
  return Array.from({ length: n }, (_, i) => {
    const place = (i / (n - 1)) * (stops.length - 1);
    const start = Math.min(stops.length - 2, Math.floor(place));
    const mix = stops[start].map((x, c) => Math.round(x + (place - start) * (stops[start + 1][c] - x)));
    return `rgb(${mix.join(",")})`;
  });
}

function colourOf(share) {
  return share === null ? NEUTRAL : LEVELS[Math.round(share * (LEVELS.length - 1))];
}

function extent(numbers) {
  let low = Infinity;
  let high = -Infinity;
  for (const x of numbers) {
    if (x === null) continue;
    if (x < low) low = x;
    if (x > high) high = x;
  }
  return low <= high ? [low, high] : [0, 0];
}

// From data to pixels. Data that are all alike are in the middle.
function scale([low, high], from, to) {
  const span = high - low;
  return (x) => (span > 0 ? from + ((x - low) / span) * (to - from) : (from + to) / 2);
}

// Round numbers within the ends, about n of them.
function ticks([low, high], n) {
  if (!(high > low)) return [low];
  const rough = (high - low) / (n + 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

// Numbers that stand beside each other, each as long as all of them need.
function tickTexts(places) {
  return places.map((x) => plain(Number(x.toPrecision(6))));
}

// Where the texts of an axis stand: within the width, and none upon the one before.
function marksApart(marks, across, width) {
  const letters = Math.max(3, Math.floor((width - across(marks[0]?.[0] ?? 0)) / Math.max(1, marks.length) / LETTER));
  let end = -Infinity;
  return marks.flatMap(([x, whole]) => {
    const text = whole === MISSING ? whole : shortened(whole, letters);
    const half = (LETTER * text.length) / 2;
    const at = Math.min(across(x), width - half);
    if (at - half < end) return [];
    end = at + half;
    return [[at, text]];
  });
}

function dotSize(n) {
  return n <= 150 ? 6 : n <= 600 ? 5 : n <= 2000 ? 4 : 3;
}

// One path for each colour draws thousands of points at once: lines of no length with round ends.
function cloud(points, size) {
  const paths = new Map();
  for (const { x, y, colour } of points) {
    paths.set(colour, (paths.get(colour) ?? "") + `M${x.toFixed(1)} ${y.toFixed(1)}h0`);
  }
  return [...paths].map(([stroke, d]) => shape("path", { class: "dots", stroke, "stroke-width": size, d }));
}

// Say what is beneath the pointer, and open its row where it is clicked.
function pointed(svg, points, open) {
  const tip = byId("tip");
  const found = (event) => {
    const box = svg.getBoundingClientRect();
    const x = event.clientX - box.left;
    const y = event.clientY - box.top;
    let best = null;
    let least = REACH ** 2;
    for (const point of points) {
      const distance = (point.x - x) ** 2 + (point.y - y) ** 2;
      if (distance < least) [best, least] = [point, distance];
    }
    return best;
  };
  svg.addEventListener("pointermove", (event) => {
    const point = found(event);
    tip.hidden = point === null;
    svg.classList.toggle("near", point !== null);
    if (point === null) return;
    tip.textContent = point.text();
    const left = Math.min(event.clientX + 12, window.innerWidth - tip.offsetWidth - 8);
    tip.style.left = `${Math.max(4, left)}px`;
    tip.style.top = `${event.clientY + 16}px`;
  });
  svg.addEventListener("pointerleave", () => (tip.hidden = true));
  const dragged = lasso(svg, points, open.select);
  svg.addEventListener("click", (event) => {
    const point = found(event);
    if (point === null || dragged()) return;
    tip.hidden = true;
    open(point.row);
  });
}

// A line that is drawn around points with a mouse keeps their rows in the table below.
function lasso(svg, points, keep) {
  const line = shape("path", { class: "lasso" });
  let corners = [];
  let drawing = false;
  const add = ({ clientX, clientY }) => {
    const { left, top } = svg.getBoundingClientRect();
    corners.push([clientX - left, clientY - top]);
  };
  const dragged = () => corners.some(([x, y]) => Math.hypot(x - corners[0][0], y - corners[0][1]) > LEAST_DRAG);
  svg.addEventListener("pointerdown", (event) => {
    drawing = event.pointerType === "mouse";
    corners = [];
    add(event);
  });
  svg.addEventListener("pointermove", (event) => {
    if (!drawing) return;
    add(event);
    if (!dragged()) return;
    svg.setPointerCapture(event.pointerId);
    line.setAttribute("d", `M${corners.join("L")}Z`);
    svg.append(line);
  });
  svg.addEventListener("pointerup", () => {
    if (drawing && dragged()) keep(points.filter(({ x, y }) => line.isPointInFill(new DOMPoint(x, y))).map(({ row }) => row));
    drawing = false;
    line.remove();
  });
  return dragged;
}

// The 95 % intervals of all points in one path, the paler the more there are.
function intervalPath(lines) {
  const opacity = Math.max(0.15, 0.45 * Math.min(1, 150 / lines.length));
  const d = lines.join("");
  return d ? shape("path", { class: "interval", "stroke-opacity": opacity, d }) : null;
}

// What the colours of a partner mean.
function levelKey(name) {
  const bars = LEVELS.map((fill, i) => shape("rect", { x: i, width: 1.02, height: 1, fill }));
  const box = { viewBox: `0 0 ${LEVELS.length} 1`, preserveAspectRatio: "none", "shape-rendering": "crispEdges", "aria-hidden": "true" };
  return [element("span", {}, `${name}:`), element("span", {}, "low", shape("svg", box, ...bars), "high")];
}

function groupKey(name, groups) {
  const box = { class: "dot", viewBox: "0 0 2 2", "aria-hidden": "true" };
  const dot = (fill) => shape("svg", box, shape("circle", { cx: 1, cy: 1, r: 0.9, fill }));
  return [...(name ? [element("span", {}, `${name}:`)] : []), ...groups.map((group, i) => element("span", {}, dot(COLOURS[i]), group))];
}

// A table with a picture in each line: name, strip, and number.
function strips(caption, lines) {
  // roles, since the style takes lines apart on a phone, which no longer make a table then
  const body = lines.map(({ name, strip, description, kind }) =>
    element("tr", { class: kind, role: "row" }, element("th", { scope: "row", role: "rowheader" }, ...name),
      element("td", { role: "cell" }, strip),
      description === undefined ? null : element("td", { class: "number", role: "cell" }, description)),
  );
  return element("table", { class: "strips", role: "table", "aria-label": caption },
    element("tbody", { role: "rowgroup" }, ...body));
}
