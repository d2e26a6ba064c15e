// Numbers and values as the displays of the package write them.

const HALF_WIDTH = 1.96; // of a 95 % interval, in standard errors
const ROUNDING = 1e-6;
const MINUS = "\u2212";
const MISSING = "missing";

// A few significant digits, or all of the integer part.
function number(value, signed = false, digits = 3) {
  if (value === null) return "unknown";
  if (value === 0) return "0";
  const size = Math.abs(value);
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
  const text = size >= 1e-4 && size < 1e6 ? size.toFixed(decimals) : size.toExponential(digits - 1);
  return (value < 0 ? MINUS : signed ? "+" : "") + text;
}

// Half the interval of a value, with two significant digits; nothing for rounding errors.
function plusMinus(half, value) {
  return half > ROUNDING * Math.abs(value) ? ` \u00b1 ${number(half, false, 2)}` : "";
}

// The probability that log-odds stand for.
function probability(logit) {
  return `${(100 / (1 + Math.exp(-logit))).toPrecision(3)}\u00a0%`;
}

// A prediction, with the probability of log-odds.
function predicted(output, value) {
  return number(value) + (output.logit ? ` (${probability(value)})` : "");
}

function count(n, noun) {
  return `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
}

// A value of the data; integers are integers.
function datum(column, row) {
  if (column.kind === "text") return column.codes[row] < 0 ? MISSING : column.names[column.codes[row]];
  const value = column.x[row];
  if (value === null) return column.texts[row] ?? MISSING;
  return column.kind === "date" ? date(value) : plain(value);
}

function plain(value) {
  const text = Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(4)));
  return text.replaceAll("-", MINUS);
}

function date(seconds) {
  return new Date(1000 * seconds).toISOString().slice(0, 16).replace("T", " ").replace(" 00:00", "");
}

// Where a value stands between the low and the high ones, in [0, 1]; null without an order.
function level(column, row) {
  if (column.kind === "text") {
    const code = column.codes[row];
    return column.ordered && code >= 0 ? code / Math.max(1, column.names.length - 1) : null;
  }
  const value = column.x[row];
  const [low, high] = column.ends;
  if (value === null) return null;
  return high > low ? Math.min(1, Math.max(0, (value - low) / (high - low))) : 0.5;
}

// The ends of names differ more often than their middle, which is cut out.
function shortened(text, most) {
  const head = Math.floor((most - 1) / 2);
  return text.length <= most ? text : `${text.slice(0, head)}\u2026${text.slice(head + 1 - most)}`;
}
