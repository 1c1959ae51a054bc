// Makes elements. Text of programs reaches the page through here only, as text nodes: nothing is ever parsed as markup.

const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes, properties that begin with "on", and children (text, elements, or arrays of them). */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function s(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.setAttribute("class", value);
    else if (name === "style") Object.assign(element.style, value); // set by script, which the security policy allows
    else element.setAttribute(name, value === true ? "" : printable(String(value)));
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) append(element, child);
    else element.append(child instanceof Node ? child : printable(String(child)));
  }
}

/** Replaces what an element holds. */
export function replace(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

// Control characters, those that change the direction of text, and other marks that do not show.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/** The text with characters that do not show written as \u0001. */
export function printable(text) {
  return text.replace(HIDDEN, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
}

/** 12345 as 12.3 k; polynomials, which are text, as they are. */
export function count(n) {
  if (typeof n !== "number") return n === null || n === undefined ? "–" : String(n);
  const units = ["", " k", " M", " G", " T", " P"];
  let unit = 0;
  let value = Math.abs(n);
  while (value >= 9999.5 || (unit > 0 && value >= 999.5)) {
    value /= 1000;
    unit += 1;
  }
  return (n < 0 ? "−" : "") + (unit ? trimmed(value) : String(value)) + units[unit];
}

/** Bytes in words. */
export function size(n) {
  if (typeof n !== "number") return n === null || n === undefined ? "–" : `${n} B`;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  let value = Math.abs(n);
  while (value >= 1023.5 && unit < 4) {
    value /= 1024;
    unit += 1;
  }
  return `${n < 0 ? "−" : ""}${unit ? trimmed(value) : value} ${units[unit]}`;
}

/** Seconds in words. */
export function time(t) {
  if (typeof t !== "number") return t === null || t === undefined ? "–" : `${t} s`;
  for (const [factor, unit] of [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]]) {
    if (Math.abs(t) >= 0.9995 * factor) return `${trimmed(t / factor)} ${unit}`;
  }
  return t === 0 ? "0" : `${trimmed(t / 1e-9)} ns`;
}

function trimmed(value) {
  return value >= 99.95 ? value.toFixed(0) : value >= 9.995 ? value.toFixed(1).replace(/\.0$/, "") : value.toFixed(2).replace(/\.?0+$/, "");
}

/** "1 op", "2 ops". */
export function plural(n, noun) {
  return `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
}

const probe = { element: undefined };

/** A colour of the theme as a canvas takes it: what a custom property comes to. */
export function themeColour(name) {
  probe.element ??= document.body.appendChild(h("i", { hidden: true }));
  probe.element.style.color = `var(${name})`;
  return getComputedStyle(probe.element).color;
}
