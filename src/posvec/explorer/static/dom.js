// Functions that create HTML and SVG elements, and formats of numbers.

/** An HTML element. */
export const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);

/** An SVG element. */
export const svg = (tag, attributes, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

/** A function that calls `act` when it has not been called again for some milliseconds. */
export function debounced(act, milliseconds) {
  let timer;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => act(...values), milliseconds);
  };
}

export const number = (value, digits = 3) =>
  value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits })
    .replace("-", "−").replace(/^−(?=[0.]+$)/, ""); // no negative zero

export const count = (value) => value.toLocaleString("en");

export const signed = (position) => (position > 0 ? `+${position}` : `−${-position}`);

export const percent = (value, digits = 1) => `${number(100 * value, digits)} %`;

/** A table; columns of numbers are right-aligned. */
export function table(caption, columns, rows) {
  const right = columns.map((_, i) => rows.every((row) => !(row[i] instanceof Node) && /^[−+\d]|^$/.test(row[i] ?? "")));
  const cells = (tag, row) =>
    row.map((cell, i) => h(tag, { class: right[i] ? "number" : null, scope: tag === "th" ? "col" : null }, cell ?? ""));
  return h("div", { class: "scrolled", tabindex: 0, role: "region", "aria-label": caption },
    h("table", {},
      h("caption", {}, caption),
      h("thead", {}, h("tr", {}, ...cells("th", columns))),
      h("tbody", {}, ...rows.map((row) => h("tr", {}, ...cells("td", row))))));
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name.startsWith("aria-")) element.setAttribute(name, String(value));
    else if (value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}
