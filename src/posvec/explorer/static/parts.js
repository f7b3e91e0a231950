// What several views show alike: states, columns of models, lists of words with bars.

import { ask } from "./api.js";
import { h, number } from "./dom.js";

export const problem = (error) => h("p", { class: "problem", role: "alert" }, error.message);

export const empty = (text) => h("p", { class: "empty" }, text);

/** A column for each model; `fill(model)` returns the nodes of one, or a promise of them. `level` is of its heading. */
export function sideBySide(models, fill, level = "h2") {
  const columns = models.map((model) => {
    const column = h("section", { class: "column", "aria-label": model.name, "aria-busy": true });
    column.append(h("p", { class: "empty" }, "…"));
    Promise.resolve(model).then(fill)
      .catch((error) => [problem(error)])
      .then((nodes) => {
        column.replaceChildren(...(models.length > 1 ? [heading(model, level)] : []), ...nodes);
        column.setAttribute("aria-busy", "false");
      });
    return column;
  });
  return h("div", { class: "columns" }, columns);
}

export const heading = (model, level) =>
  h(level, { class: "model" }, model.name, " ", model.kind === model.name ? "" : h("small", {}, model.kind));

/** Said of a model that was compressed to its word vectors alone. */
export const vectorsAlone = (what) => empty(`This model was compressed to its word vectors alone: it has no ${what}.`);

/** Two parts of a column, beside each other where there is room. */
export const pair = (one, other) => h("div", { class: "pair" }, h("div", {}, one), h("div", {}, other));

/** Words with a value each, as a list of links or buttons with bars; `said` are further columns. */
export function wordBars(items, label) {
  const highest = Math.max(...items.map((item) => item.value), 1e-9);
  return h("ol", { class: "bars", "aria-label": label },
    items.map(({ control, value, digits = 3, said = [] }) => {
      const bar = h("span", { class: "bar", "aria-hidden": true });
      bar.style.setProperty("--share", Math.max(0, value / highest));
      return h("li", {}, control, bar, [number(value, digits), ...said].map((each) => h("span", { class: "number" }, each)));
    }));
}

/** A word as the model's tokenizer would find it. */
export const asRead = (model, word) => (model.tokenizer === "word" ? word.trim().toLowerCase() : word.trim());

/** The answer of one model. */
export const askModel = (model, path, parameters) => ask(path, { model: model.name, ...parameters });
