// Positions: the importance of each position, and clusters of the features that weight positions alike.

import { heatMap, lines } from "./charts.js";
import { count, h, number, percent, signed, table } from "./dom.js";
import { figure } from "./figure.js";
import { askModel, empty, pair, problem, sideBySide, vectorsOnly } from "./parts.js";
import { query } from "./api.js";

export const title = "Positions";
export const lead = "The importance of each position, and clusters of features with similar weights.";

export function show(main, models, parameters, setParameters) {
  const positional = models.filter((model) => model.positional_dim > 0);
  if (!positional.length) {
    const kinds = [...new Set(models.map((model) => model.kind))].join(" or ");
    main.append(empty(`A ${kinds} model weights all positions equally. Open a positional or constrained model to see the importance of positions.`));
    return;
  }
  const overview = h("div", { "aria-busy": true });
  main.append(overview);
  importance(positional, models.length > 1).catch(problem).then((shown) => {
    overview.append(shown);
    overview.setAttribute("aria-busy", "false");
  });
  main.append(sideBySide(models, (model) => column(model, parameters.get("cluster"), setParameters)));
}

async function importance(models, withLegend) {
  const answers = await Promise.all(models.map((model) => askModel(model, "positions")));
  const found = models.map((model, i) => answers[i].models[model.name]);
  const positions = [...new Set(found.flatMap((each) => Object.keys(each).map(Number)))].sort((a, b) => a - b);
  const series = models.map((model, i) => ({ name: model.name, values: positions.map((position) => found[i][position] ?? null) }));
  const rows = positions.map((position, i) => [position, ...series.map((each) => each.values[i])]);
  return h("div", {},
    figure("Importance of positions",
      (width) => lines(positions, series, `Importance of positions ${positions[0]} to ${positions.at(-1)}.`, width, { format: signed }),
      [["position", ...series.map((each) => each.name)], ...rows],
      { note: "norm of d_p, scaled to 0–1; the masked word is between −1 and +1" }),
    withLegend ? legend(series.map((each, i) => h("span", { class: "key" }, swatch(i), each.name))) : "");
}

async function column(model, initial, setParameters) {
  if (!model.positional_dim) {
    return [empty(`A ${model.kind} model has no positional features: it weights a word equally at every position.`)];
  }
  const { positions, clusters, silhouette, weights } = await askModel(model, "clusters");
  const curves = h("div", {}), details = h("div", { class: "details", "aria-live": "polite" });
  let selected = clusters.some((each) => each.name === initial) ? initial : null;

  function draw() {
    const series = clusters.map((each) => (
      { name: each.name, values: each.curve, selected: !selected || each.name === selected, select }));
    const keys = clusters.map((each, i) =>
      h("button", { type: "button", class: "key", "aria-pressed": each.name === selected, onclick: () => select(each.name) },
        swatch(i), `${each.name} (${each.features.length})`));
    curves.replaceChildren(
      figure("Clusters of positional features",
        (width) => lines(positions, series, "Mean weight of each cluster at each position.", width, { format: signed }),
        [["position", ...clusters.map((each) => each.name)],
          ...positions.map((position, i) => [position, ...clusters.map((each) => each.curve[i])])],
        { note: `mean |d| at each position${silhouette === null ? "" : `; silhouette ${number(silhouette, 2)}`}`,
          of: model.name }),
      legend(keys));
  }

  function select(name) {
    selected = selected === name ? null : name;
    setParameters({ cluster: selected });
    const focused = [...curves.querySelectorAll("button.key")].indexOf(document.activeElement);
    draw();
    if (focused >= 0) curves.querySelectorAll("button.key")[focused].focus();
    showDetails();
  }

  function showDetails() {
    const name = selected;
    const shown = (...nodes) => {
      if (name !== selected) return; // another cluster has been selected in the meantime
      details.replaceChildren(...nodes);
      details.setAttribute("aria-busy", "false");
    };
    if (!name) return shown(h("p", { class: "hint" }, "Choose a cluster to see its words and example sentences."));
    details.replaceChildren(empty("…"));
    details.setAttribute("aria-busy", "true");
    return clusterDetails(model, name).then((nodes) => shown(...nodes), (error) => shown(problem(error)));
  }

  draw();
  showDetails();
  const map = figure("Heat map of positional features",
    (width) => heatMap(positions, clusters, weights,
      `The weights of ${weights[0].length} positional features at ${positions.length} positions.`, width),
    [["position", ...weights[0].map((_, i) => i)], ...positions.map((position, i) => [position, ...weights[i]])],
    { note: "|d|, a column for each feature", of: model.name });
  return [h("div", { class: "pair" }, curves, details, map)];
}

async function clusterDetails(model, name) {
  const [words, { examples }] = await Promise.all([
    askModel(model, "context-words"), model.can_predict ? askModel(model, "examples") : { examples: [] }]);
  const top = words.top[name] ?? [], own = examples.filter((each) => each.cluster === name);
  const size = words.class_sizes[name] ?? 0;
  return [pair([
    h("h3", {}, `Context words of the ${name} cluster`),
    h("p", { class: "hint" }, `${count(size)} of the ${count(Math.min(20_000, model.words))} most frequent words belong to this cluster. Highest ratios to the next cluster:`),
    top.length
      ? h("ul", { class: "words" }, top.map((each) => h("li", {}, h("a", { href: `/words?${query({ word: each.word })}` }, each.word))))
      : empty("No frequent word belongs to this cluster."),
  ], [
    h("h3", {}, "Example sentences"),
    own.length
      ? table("Probability of the masked word by the position of the context word", ["sentence", "masked word", "by cluster", "by model"],
        own.flatMap((each) => each.sentences.map((sentence, i) => [
          h("a", { href: `/gap?${query({ sentence, word: each.masked_word })}` }, shortened(sentence)),
          h("span", {}, each.masked_word), percent(each.probabilities[i]), percent(each.model_probabilities[i])])))
      : model.can_predict ? empty("There are no examples of this cluster.") : vectorsOnly("example sentences"),
  ])];
}

/** A sentence with the number of empty positions instead of each run of [PAD]. */
const shortened = (sentence) => sentence.replace("[MASK]", "___").replace(/(\[PAD\] ?)+/g, (run) => {
  const length = run.split("[PAD]").length - 1;
  return `(${length} empty ${length === 1 ? "position" : "positions"}) `;
});

const legend = (keys) => h("div", { class: "legend" }, keys);

const swatch = (i) => h("span", { class: `swatch s${i % 4}`, "aria-hidden": true });
