// Elements that several views share: messages, columns of models, lists of words with bars.

import { ask } from "./api.js";
import { h, number } from "./dom.js";

/** An error message. */
export const problem = (error) => h("p", { class: "problem", role: "alert" }, error.message);

/** A message where there is nothing to show. */
export const empty = (text) => h("p", { class: "empty" }, text);

/** A column per model; `fill(model)` returns its nodes or a promise of them. `level` is the level of its heading. */
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

/** The name and the kind of a model. */
export const heading = (model, level) =>
  h(level, { class: "model" }, model.name, " ", model.kind === model.name ? "" : h("small", {}, model.kind));

/** The message for a model that was compressed to its word vectors alone. */
export const vectorsOnly = (what) => empty(`This model was compressed to its word vectors alone: it has no ${what}.`);

/** Two parts of a column, side by side where the column is wide enough. */
export const pair = (left, right) => h("div", { class: "pair" }, h("div", {}, left), h("div", {}, right));

/** A list of links or buttons, each with a value and its bar; `columns` are further texts. */
export function wordBars(items, label) {
  const highest = Math.max(...items.map((item) => item.value), 1e-9);
  return h("ol", { class: "bars", "aria-label": label },
    items.map(({ control, value, digits = 3, columns = [] }) => {
      const bar = h("span", { class: "bar", "aria-hidden": true });
      bar.style.setProperty("--fraction", Math.max(0, value / highest));
      return h("li", {}, control, bar, [number(value, digits), ...columns].map((each) => h("span", { class: "number" }, each)));
    }));
}

/** A word in the form that the model's tokenizer gives it. */
export const normalize = (model, word) => (model.tokenizer === "word" ? word.trim().toLowerCase() : word.trim());

/** The response for one model. */
export const askModel = (model, path, parameters) => ask(path, { model: model.name, ...parameters });
