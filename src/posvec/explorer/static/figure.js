// A figure with its title and ways to take it along: SVG, PNG, CSV.

import { h, svg } from "./dom.js";

const KEPT = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin",
  "stroke-opacity", "opacity", "font-family", "font-size", "font-weight", "font-variant-numeric", "text-anchor",
  "dominant-baseline", "image-rendering"];

/**
 * `draw(width)` makes the drawing, again whenever the width changes; `rows` are those of the CSV, names of columns
 * first. `of` is what the figure is of, where a page has several of one title.
 */
export function figure(title, draw, rows, { note = "", of = "" } = {}) {
  const place = h("div", { class: "drawing" });
  const whole = of ? `${title} of ${of}` : title;
  const name = whole.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-");
  const button = (format, act) =>
    h("button", { type: "button", "aria-label": `Download ${whole} as ${format}`, onclick: act }, format);
  const drawing = () => place.firstElementChild;
  let drawn = 0;
  new ResizeObserver(([{ contentRect }]) => {
    const width = Math.floor(contentRect.width);
    if (width && width !== drawn) place.replaceChildren(draw((drawn = width)));
  }).observe(place);
  return h("figure", {},
    h("figcaption", {}, h("strong", {}, title),
      h("span", { class: "downloads" },
        button("SVG", () => save(svgBlob(drawing()), `${name}.svg`)),
        button("PNG", async () => save(await pngBlob(drawing()), `${name}.png`)),
        button("CSV", () => saveCsv(rows, name))),
      note ? h("span", { class: "note" }, note) : ""),
    place);
}

export function saveCsv(rows, name) {
  const quoted = (cell) => (/[",\n]/.test(cell) ? `"${String(cell).replaceAll('"', '""')}"` : cell);
  const text = rows.map((row) => row.map((cell) => quoted(cell ?? "")).join(",")).join("\n");
  save(new Blob([text, "\n"], { type: "text/csv" }), `${name}.csv`);
}

/** The drawing as it looks now, without the page's style sheet. */
function svgBlob(drawing) {
  const copy = drawing.cloneNode(true);
  const originals = [drawing, ...drawing.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((element, i) => {
    const style = getComputedStyle(originals[i]);
    for (const property of KEPT) element.setAttribute(property, style.getPropertyValue(property));
    element.removeAttribute("class");
  });
  const { width, height } = drawing.viewBox.baseVal;
  copy.prepend(svg("rect", { width, height, fill: getComputedStyle(document.body).backgroundColor }));
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  return new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" });
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
  return new Promise((made) => canvas.toBlob(made));
}

function save(blob, name) {
  const address = URL.createObjectURL(blob);
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
