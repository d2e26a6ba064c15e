// Elements are made here and nowhere else. Text is always text: no name is ever read as markup.
"use strict";

const NAMESPACE = new DOMParser().parseFromString("<svg>", "text/html").querySelector("svg").namespaceURI;

function element(tag, attributes, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function shape(tag, attributes, ...children) {
  return filled(document.createElementNS(NAMESPACE, tag), attributes, children);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

function byId(id) {
  return document.getElementById(id);
}

// The parts of a section that change with the output.
function part(section, selector) {
  return byId(section).querySelector(selector);
}

function options(select, names, chosen) {
  select.replaceChildren(
    ...names.map((name, place) => element("option", { value: place, selected: place === chosen && "" }, name)),
  );
}

const sections = []; // functions that draw the sections before the table of rows

// A section with a title, empty parts, and the function that draws them for an output.
function addSection(id, title, parts, draw) {
  const heading = element("h2", { id: `${id}-title` }, title);
  const boxes = parts.map((name) => element(name === "note" ? "p" : "div", { class: name }));
  byId("rows").before(element("section", { id, "aria-labelledby": heading.id }, heading, ...boxes));
  sections.push(draw);
}

// Offer a file to the reader.
function save(text, type, name) {
  const link = element("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  URL.revokeObjectURL(link.href);
}

// A name that may wrap behind its underscores.
function wrappable(name) {
  const box = document.createDocumentFragment();
  name.split(/(?<=_)/).forEach((piece, place) => box.append(...(place ? [element("wbr"), piece] : [piece])));
  return box;
}
