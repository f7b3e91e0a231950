// Figures with a title and buttons to download them as SVG, PNG and CSV.

import { h, svg } from "./dom.js";

const STYLE_PROPERTIES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin",
  "stroke-opacity", "opacity", "font-family", "font-size", "font-weight", "font-variant-numeric", "text-anchor",
  "dominant-baseline", "image-rendering"];

/**
 * A figure. `draw(width)` returns the drawing and is called again when the width changes. `rows` are the lines of the
 * CSV file, column names first. `of` is the name of the model where a page has several figures with the same title.
 */
export function figure(title, draw, rows, { note = "", of = "" } = {}) {
  const container = h("div", { class: "drawing" });
  const fullTitle = of ? `${title} of ${of}` : title;
  const drawing = () => container.firstElementChild;
  let drawn = 0;
  new ResizeObserver(([{ contentRect }]) => {
    const width = Math.floor(contentRect.width);
    if (width && width !== drawn) container.replaceChildren(draw((drawn = width)));
  }).observe(container);
  return h("figure", {},
    h("figcaption", {}, h("strong", {}, title),
      h("span", { class: "downloads" },
        download(fullTitle, "SVG", () => svgBlob(drawing())),
        download(fullTitle, "PNG", () => pngBlob(drawing())),
        download(fullTitle, "CSV", () => csvBlob(rows))),
      note ? h("span", { class: "note" }, note) : ""),
    container);
}

/** A heading of a list or a table of a model, with a button to download it as CSV. */
export const titled = (title, of, note, rows) =>
  h("div", { class: "title" },
    h("h3", {}, title, note ? h("span", { class: "note" }, note) : ""),
    h("span", { class: "downloads" }, download(`${title} of ${of}`, "CSV", () => csvBlob(rows))));

function download(title, format, make) {
  const name = title.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "");
  return h("button", { type: "button", "aria-label": `Download ${title} as ${format}`,
    onclick: async () => save(await make(), `${name}.${format.toLowerCase()}`) }, format);
}

/** As in Result.to_csv: an apostrophe before text that spreadsheets would evaluate as a formula. */
function csvBlob(rows) {
  const isNumber = (cell) => /^[+-](\d+\.?\d*|\.\d+)([eE][+-]?\d+)? ?%?$/.test(cell);
  const inert = (cell) => (typeof cell === "string" && /^[=@+\-\t\r]./s.test(cell) && !isNumber(cell) ? `'${cell}` : cell);
  const quoted = (cell) => (/[",\n\r]/.test(cell) ? `"${String(cell).replaceAll('"', '""')}"` : cell);
  const text = rows.map((row) => row.map((cell) => quoted(inert(cell ?? ""))).join(",")).join("\n");
  return new Blob([text, "\n"], { type: "text/csv" });
}

/** The drawing as an SVG file: computed styles become attributes, because the file has no style sheet. */
function svgBlob(drawing) {
  const copy = drawing.cloneNode(true);
  const originals = [drawing, ...drawing.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((element, i) => {
    const style = getComputedStyle(originals[i]);
    for (const property of STYLE_PROPERTIES) element.setAttribute(property, style.getPropertyValue(property));
    element.removeAttribute("class");
    for (const { name, value } of element.attributes) element.setAttribute(name, printable(value));
  });
  for (const text of textNodes(copy)) text.data = printable(text.data);
  const { width, height } = drawing.viewBox.baseVal;
  copy.prepend(svg("rect", { width, height, fill: getComputedStyle(document.body).backgroundColor }));
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  return new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" });
}

/** Control characters, which XML forbids, as symbols; half a character is replaced too. */
const printable = (text) => text
  .replace(/[\0-\x08\x0b-\x1f]/g, (each) => String.fromCharCode(0x2400 + each.charCodeAt(0)))
  .replace(/\x7f/g, "\u2421").replace(/[\x80-\x9f\ufffe\uffff]|\p{Surrogate}/gu, "\ufffd");

function textNodes(element) {
  const nodes = [];
  for (let walk = document.createTreeWalker(element, NodeFilter.SHOW_TEXT); walk.nextNode();) nodes.push(walk.currentNode);
  return nodes;
}

async function pngBlob(drawing) {
  const { width, height } = drawing.viewBox.baseVal;
  const address = URL.createObjectURL(svgBlob(drawing));
  const image = new Image();
  image.src = address;
  await image.decode();
  URL.revokeObjectURL(address);
  const canvas = h("canvas", { width: 2 * width, height: 2 * height });
  canvas.getContext("2d").drawImage(image, 0, 0, 2 * width, 2 * height);
  return new Promise((resolve) => canvas.toBlob(resolve));
}

function save(blob, name) {
  const address = URL.createObjectURL(blob);
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
