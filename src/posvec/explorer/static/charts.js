// Charts in SVG. Each function takes data and a width, and returns an element of this width.

import { number, signed, svg } from "./dom.js";
import { hideTip, onPointer, showTip, withTip } from "./tip.js";

const text = (x, y, content, attributes = {}) => svg("text", { x, y, ...attributes }, content);
const canvas = (width, height, label, ...children) =>
  svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label }, ...children);

/** Bars to both sides of zero, one per item {name, position, value}, with their sum and its name below them. */
export function divergingBars(items, sum, sumName, label, width) {
  const row = 28, right = 62, positionWidth = 40;
  const names = Math.min(width * 0.32, Math.max(50, ...items.map((item) => textWidth(item.name))));
  const left = names + positionWidth;
  const values = items.map((item) => item.value);
  const low = Math.min(0, ...values), high = Math.max(0, ...values, 1e-9);
  const x = (value) => left + ((value - low) / (high - low)) * (width - left - right);
  const bars = items.map(({ name, position, value }, i) => {
    const y = i * row;
    const from = Math.min(x(0), x(value));
    return withTip(svg("g", {},
      text(names, y + 19, truncated(name, names), { class: "label end" }),
      text(left - 12, y + 19, position, { class: "tick end" }),
      svg("rect", { x: from, y: y + 6, width: Math.max(1, Math.abs(x(value) - x(0))), height: row - 12, rx: 2,
        class: value < 0 ? "s1" : "s0" }),
      text(width, y + 19, number(value), { class: "value end" })), () => `${position ? `${name} at ${position}` : name}\n${number(value)}`);
  });
  const bottom = items.length * row;
  return canvas(width, bottom + 30, label,
    svg("line", { x1: x(0), x2: x(0), y1: 0, y2: bottom, class: "axis" }),
    ...bars,
    svg("line", { x1: 0, x2: width, y1: bottom + 2, y2: bottom + 2, class: "axis" }),
    text(names, bottom + 21, truncated(sumName, names), { class: "label end" }),
    text(width, bottom + 21, number(sum), { class: "value end strong" }));
}

/**
 * A line chart over the numbers `xs`, with one line per series {name, values, selected?, select?}. Lines are interrupted
 * at null values and where a whole number is missing from `xs`, as between the positions −1 and +1.
 */
export function lines(xs, series, label, width, { format = String, digits = 3, zero = true } = {}) {
  const height = Math.round(Math.min(280, Math.max(190, width * 0.42))), left = 46, right = 12, top = 12, bottom = 30;
  const all = series.flatMap((each) => each.values).filter((value) => value !== null);
  const { ticks, decimals } = roundTicks(zero ? 0 : Math.min(...all), Math.max(...all));
  const [low, high] = [ticks[0], ticks.at(-1)];
  const [first, last] = [xs[0], xs.at(-1)];
  const x = (value) => (first === last ? (left + width - right) / 2
    : left + ((value - first) / (last - first)) * (width - left - right));
  const y = (value) => height - bottom - ((value - low) / (high - low)) * (height - top - bottom);
  const paths = series.map(({ name, values, selected, select }, i) => {
    let previous = null;
    const path = xs.map((value, at) => {
      if (values[at] === null) return (previous = null) ?? "";
      const command = previous !== null && value - previous <= 1 ? "L" : "M";
      previous = value;
      return `${command}${x(value).toFixed(1)} ${y(values[at]).toFixed(1)}`;
    }).join("");
    const shape = `line s${i % 4}${selected === false ? " faded" : ""}`;
    const dots = xs.map((value, at) => values[at] === null ? null
      : svg("circle", { cx: x(value), cy: y(values[at]), r: xs.length > 40 ? 1.5 : 2.5, class: `dot ${shape}` }));
    const target = select ? svg("path", { d: path, class: "click-target", onclick: () => select(name) }) : null;
    return svg("g", {}, svg("path", { d: path, class: shape }), ...dots.filter(Boolean), target ?? "");
  });
  const step = Math.ceil(xs.length / Math.max(2, (width - left) / 34));
  const labelled = xs.filter((value) => value % step === 0 || step === 1);
  const guide = svg("line", { y1: top, y2: height - bottom, class: "guide", visibility: "hidden" });
  const drawing = canvas(width, height, `${label} Arrow keys show the values.`,
    ...ticks.map((tick) => svg("g", {},
      svg("line", { x1: left, x2: width - right, y1: y(tick), y2: y(tick), class: "grid" }),
      text(left - 8, y(tick) + 4, number(tick, decimals), { class: "tick end" }))),
    ...labelled.map((value) => text(x(value), height - 8, format(value), { class: "tick middle" })),
    guide, ...paths);
  drawing.setAttribute("tabindex", "0");
  let at = -1;
  const showValues = (index, clientX, clientY) => {
    at = index;
    guide.setAttribute("x1", x(xs[at]));
    guide.setAttribute("x2", x(xs[at]));
    guide.setAttribute("visibility", "visible");
    const values = series.filter((each) => each.values[at] !== null);
    showTip([format(xs[at]), ...values.map((each) => `${each.name} ${number(each.values[at], digits)}`)].join("\n"),
      clientX, clientY);
  };
  const hideValues = () => { guide.setAttribute("visibility", "hidden"); hideTip(); };
  onPointer(drawing, (event) => {
    const inside = event.clientX - drawing.getBoundingClientRect().left;
    const distances = xs.map((value) => Math.abs(x(value) - inside));
    showValues(distances.indexOf(Math.min(...distances)), event.clientX, event.clientY);
  }, hideValues);
  drawing.addEventListener("blur", hideValues);
  drawing.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === "Escape") hideValues();
    if (!by) return;
    event.preventDefault();
    const box = drawing.getBoundingClientRect();
    const next = at < 0 ? 0 : Math.min(xs.length - 1, Math.max(0, at + by));
    showValues(next, box.left + x(xs[next]), box.top + 40);
  });
  return drawing;
}

/** A heat map of |d|, one column per feature, one row per position. The columns are ordered by cluster. */
export function heatMap(positions, clusters, weights, label, width) {
  const left = 46, top = 26, columns = clusters.flatMap((cluster) => cluster.features);
  const cell = (width - left) / columns.length, row = Math.max(6, Math.min(14, (width - left) / positions.length));
  const height = top + row * positions.length;
  const high = Math.max(...weights.flat(), 1e-9);
  const pixels = document.createElement("canvas");
  [pixels.width, pixels.height] = [columns.length, positions.length];
  const brush = pixels.getContext("2d");
  const [ink, back] = ["--s0", "--back"].map(cssColour);
  positions.forEach((_, i) => columns.forEach((feature, j) => {
    const intensity = Math.sqrt(weights[i][feature] / high);
    brush.fillStyle = `rgb(${ink.map((part, k) => Math.round(back[k] + intensity * (part - back[k]))).join()})`;
    brush.fillRect(j, i, 1, 1);
  }));
  let begin = 0;
  const names = clusters.map((cluster) => {
    const x = left + begin * cell, room = cluster.features.length * cell;
    begin += cluster.features.length;
    return svg("g", {},
      svg("line", { x1: x + 1, x2: x + room - 1, y1: top - 6, y2: top - 6, class: "axis" }),
      text(x + 2, top - 11, room > 34 ? truncated(cluster.name, room - 4, 11.5) : "", { class: "tick" }));
  });
  const step = Math.ceil(13 / row);
  const rows = positions.map((position, i) => Math.abs(position) % step === 0 || step === 1
    ? text(left - 8, top + (i + 0.5) * row + 4, signed(position), { class: "tick end" }) : "");
  const image = svg("image", { href: pixels.toDataURL(), x: left, y: top, width: width - left, height: height - top,
    preserveAspectRatio: "none", class: "pixels" });
  withTip(image, (event) => {
    const box = image.getBoundingClientRect();
    const i = Math.floor(((event.clientY - box.top) / box.height) * positions.length);
    const j = Math.floor(((event.clientX - box.left) / box.width) * columns.length);
    if (!(i in positions) || !(j in columns)) return "";
    return `feature ${columns[j]} at ${signed(positions[i])}\n|d| ${number(weights[i][columns[j]])}`;
  });
  return canvas(width, height + 4, label, ...names, ...rows, image);
}

/** A map of words {word, x, y, similarity} with a link each; the first word is the centre of the neighbourhood. */
export function wordMap(words, label, width, href) {
  const height = Math.round(Math.max(300, width * 0.62)), margin = { x: Math.min(70, width / 6), y: 22 };
  const scale = (values, from, to) => {
    const low = Math.min(...values), span = Math.max(...values) - low || 1;
    return (value) => from + ((value - low) / span) * (to - from);
  };
  const x = scale(words.map((each) => each.x), margin.x, width - margin.x);
  const y = scale(words.map((each) => each.y), height - margin.y, margin.y);
  const taken = words.map((each) => ({ left: x(each.x) - 3, right: x(each.x) + 3, top: y(each.y) - 3, bottom: y(each.y) + 3 }));
  const free = (box) => box.left > 0 && box.right < width && taken.every((other) =>
    box.right < other.left || box.left > other.right || box.bottom < other.top || box.top > other.bottom);
  const points = words.map((each, i) => {
    const [px, py] = [x(each.x), y(each.y)], room = textWidth(each.word, 13, i === 0 ? 700 : 400);
    const spots = [[-room / 2, -8], [-room / 2, 18], [8, 4.5], [-8 - room, 4.5]].map(([dx, dy]) => (
      { left: px + dx, right: px + dx + room, top: py + dy - 11, bottom: py + dy + 3 }));
    const spot = spots.find(free) ?? (i === 0 ? spots[0] : null); // without a free spot, only the first word keeps its label
    if (spot) taken.push(spot);
    const point = svg("a", { href: href(each.word), class: i === 0 ? "centre" : "" },
      svg("circle", { cx: px, cy: py, r: i === 0 ? 5 : 3.5, class: "s0 point" }),
      spot ? text(spot.left, spot.bottom - 3, each.word, { class: "label" }) : "");
    point.setAttribute("aria-label", each.word);
    return withTip(point, () => `${each.word}\nsimilarity ${number(each.similarity)}`);
  });
  const drawing = canvas(width, height, label, ...points.reverse());
  drawing.setAttribute("role", "group"); // not an image: it contains links
  return drawing;
}

/** Two to six round numbers that enclose `low` and `high`, and the number of their decimals. */
function roundTicks(low, high) {
  const rough = Math.max(high - low, 1e-6) / 4, power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((each) => each * power >= rough);
  const first = Math.floor(low / step), last = Math.max(first + 1, Math.ceil(high / step - 1e-9));
  return {
    ticks: Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step),
    decimals: Math.max(0, -Math.floor(Math.log10(step) + 1e-9)),
  };
}

const context = document.createElement("canvas").getContext("2d"); // measures texts, parses colours

/** The width of a text. */
function textWidth(content, size = 13, weight = 400) {
  context.font = `${weight} ${size}px system-ui, sans-serif`;
  return context.measureText(content).width;
}

/** A text, truncated to fit a width. */
function truncated(content, room, size) {
  if (textWidth(content, size) <= room + 0.5) return content;
  const letters = [...content];
  while (letters.length > 1 && textWidth(`${letters.join("")}…`, size) > room) letters.pop();
  return `${letters.join("")}…`;
}

/** Red, green and blue of a CSS variable. */
function cssColour(name) {
  context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  return context.fillStyle.match(/[0-9a-f]{2}/gi).map((part) => parseInt(part, 16));
}
