// Groups of features, which unfold into their members: in the bars of all rows, and in the waterfall of one.

bars[0] = groupBars;
details[0] = groupWaterfall;
let unfoldedBars = null;

// Features without a group, and the outermost groups with their members.
function treeOf(content) {
  const top = [];
  const groups = new Map();
  const membersOf = (path) => groups.get(JSON.stringify(path))?.members ?? top;
  content.groups.forEach(([path, n], place) => {
    const name = path.at(-1) ?? count(n, "other feature");
    const group = { name, n, of: "groups", place, members: [] };
    membersOf(path.slice(0, -1)).push(group);
    groups.set(JSON.stringify(path), group);
  });
  content.features.forEach((name, place) => membersOf(content.paths[place]).push({ name, n: 1, of: "features", place }));
  return top;
}

// The features of a group of one feature with its name are not unfolded.
function isLeaf({ name, members = [] }) {
  return !members.length || (members.length === 1 && members[0].name === name);
}

function numbersOf(output, { of }) {
  return of === "groups" ? output.groups : output;
}

// The groups that are unfolded at first: all where they are few.
function unfoldedAtFirst(content, all) {
  const few = content.features.length + content.groups.length <= FIRST_FEATURES;
  return Object.assign(new Set(all || few ? content.groups.keys() : []), { all });
}

// A picture that is drawn again when a group folds or unfolds.
function foldable(unfolded, make) {
  const box = element("div", { keydown: moved });
  const draw = () => box.replaceChildren(make((entry, depth, more = []) => [cell(entry, depth, more)]));
  const toggle = (place) => {
    if (!unfolded.delete(place)) unfolded.add(place);
    draw();
    box.querySelector(`[data-group="${place}"]`).focus();
  };
  const cell = (entry, depth, more) => {
    const { name, place } = entry;
    const leaf = element("div", { class: "member" }, wrappable(name), ...more);
    const fold = { type: "button", class: "member opener", "data-group": place, "aria-expanded": String(unfolded.has(place)), click: () => toggle(place) };
    const node = isLeaf(entry) ? leaf : element("button", fold, element("span", {}, wrappable(name)));
    node.style.setProperty("--depth", depth);
    return node;
  };
  draw();
  return box;
}

// Arrows to the right and left unfold and fold a group; up and down lead to the groups around it.
function moved(event) {
  const group = event.target;
  const groups = [...event.currentTarget.querySelectorAll("[data-group]")];
  const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  if (step) groups[groups.indexOf(group) + step]?.focus();
  else if (event.key === (group.getAttribute("aria-expanded") === "true" ? "ArrowLeft" : "ArrowRight")) group.click();
  else return;
  event.preventDefault();
}

function groupBars(content, output, all) {
  if (unfoldedBars?.all !== all) unfoldedBars = unfoldedAtFirst(content, all);
  const unfolded = unfoldedBars;
  const size = (entry) => numbersOf(output, entry).importance[entry.place];
  const sorted = (entries) => entries.sort((a, b) => size(b)[0] - size(a)[0]);
  return foldable(unfolded, (named) => {
    const line = (entry, depth) => [{ name: named(entry, depth), size: size(entry) },
      ...(isUnfolded(entry, unfolded) ? sorted(entry.members).flatMap((member) => line(member, depth + 1)) : [])];
    const top = sorted(treeOf(content)).slice(0, all ? undefined : FIRST_FEATURES);
    return importanceTable(content, output, top.flatMap((entry) => line(entry, 0)));
  });
}

function isUnfolded(entry, unfolded) {
  return entry.of === "groups" && unfolded.has(entry.place) && !isLeaf(entry);
}

function groupWaterfall(content, output, row, all) {
  const unfolded = unfoldedAtFirst(content, all);
  return foldable(unfolded, (named) => {
    const step = (entry, depth) => {
      const data = entry.of === "features" ? [element("span", { class: "value" }, ` = ${datum(content.columns[entry.place], row)}`)] : [];
      const members = isUnfolded(entry, unfolded) ? bySize(entry.members.map((member) => step(member, depth + 1))) : [];
      return { ...stepAt(numbersOf(output, entry), entry.place, row), n: entry.n, cell: named(entry, depth, data), members };
    };
    const steps = treeOf(content).map((entry) => step(entry, 0));
    return waterfallTable(content, output, row, waterfallLines(content, output, row, all, steps));
  });
}
