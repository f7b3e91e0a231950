// Positions: how much each matters, and the clusters of features that listen to one side or the other.

import { heatMap, lines } from "./charts.js";
import { count, h, number, percent, signed, table } from "./dom.js";
import { figure } from "./figure.js";
import { askModel, empty, pair, problem, sideBySide, vectorsAlone } from "./parts.js";
import { query } from "./api.js";

export const title = "Positions";
export const lead = "How much does it matter where a word stands, and to which features?";

export function show(main, models, parameters, keep) {
  const positional = models.filter((model) => model.positional_dim > 0);
  if (!positional.length) {
    const kinds = [...new Set(models.map((model) => model.kind))].join(" or ");
    main.append(empty(`A ${kinds} model weighs all positions alike. Open a positional or constrained model to see more.`));
    return;
  }
  const first = h("div", { "aria-busy": true });
  main.append(first);
  importance(positional, models.length > 1).catch(problem).then((shown) => {
    first.append(shown);
    first.setAttribute("aria-busy", "false");
  });
  main.append(sideBySide(models, (model) => column(model, parameters.get("cluster"), keep)));
}

async function importance(models, named) {
  const answers = await Promise.all(models.map((model) => askModel(model, "positions")));
  const found = models.map((model, i) => answers[i].models[model.name]);
  const places = [...new Set(found.flatMap((each) => Object.keys(each).map(Number)))].sort((a, b) => a - b);
  const series = models.map((model, i) => ({ name: model.name, values: places.map((place) => found[i][place] ?? null) }));
  const rows = places.map((place, i) => [place, ...series.map((each) => each.values[i])]);
  return h("div", {},
    figure("Importance of positions",
      (width) => lines(places, series, `Importance of positions ${places[0]} to ${places.at(-1)}.`, width, { named: signed }),
      [["position", ...series.map((each) => each.name)], ...rows],
      { note: "length of d_p, scaled to 0–1; the masked word stands between −1 and +1" }),
    named ? legend(series.map((each, i) => h("span", { class: "key" }, swatch(i), each.name))) : "");
}

async function column(model, chosen, keep) {
  if (!model.positional_dim) {
    return [empty(`A ${model.kind} model has no positional features: a word counts the same wherever it stands.`)];
  }
  const { positions, clusters, silhouette, weights } = await askModel(model, "clusters");
  const curves = h("div", {}), details = h("div", { class: "details", "aria-live": "polite" });
  let open = clusters.some((each) => each.name === chosen) ? chosen : null;

  function draw() {
    const series = clusters.map((each) => (
      { name: each.name, values: each.curve, chosen: !open || each.name === open, choose }));
    const keys = clusters.map((each, i) =>
      h("button", { type: "button", class: "key", "aria-pressed": each.name === open, onclick: () => choose(each.name) },
        swatch(i), `${each.name} (${each.features.length})`));
    curves.replaceChildren(
      figure("Clusters of positional features",
        (width) => lines(positions, series, "Mean weight of each cluster at each position.", width, { named: signed }),
        [["position", ...clusters.map((each) => each.name)],
          ...positions.map((place, i) => [place, ...clusters.map((each) => each.curve[i])])],
        { note: `mean |d| at each position${silhouette === null ? "" : `; silhouette ${number(silhouette, 2)}`}`,
          of: model.name }),
      legend(keys));
  }

  function choose(name) {
    open = open === name ? null : name;
    keep({ cluster: open });
    const focused = [...curves.querySelectorAll("button.key")].indexOf(document.activeElement);
    draw();
    if (focused >= 0) curves.querySelectorAll("button.key")[focused].focus();
    tell();
  }

  function tell() {
    const name = open;
    const shown = (...nodes) => {
      if (name !== open) return; // another one was chosen since
      details.replaceChildren(...nodes);
      details.setAttribute("aria-busy", "false");
    };
    if (!name) return shown(h("p", { class: "hint" }, "Choose a cluster to see its words and example sentences."));
    details.replaceChildren(empty("…"));
    details.setAttribute("aria-busy", "true");
    return clusterDetails(model, name).then((nodes) => shown(...nodes), (error) => shown(problem(error)));
  }

  draw();
  tell();
  const map = figure("Heat map of positional features",
    (width) => heatMap(positions, clusters, weights,
      `The weights of ${weights[0].length} positional features at ${positions.length} positions.`, width),
    [["position", ...weights[0].map((_, i) => i)], ...positions.map((place, i) => [place, ...weights[i]])],
    { note: "|d|, a column for each feature", of: model.name });
  return [h("div", { class: "pair" }, curves, details, map)];
}

async function clusterDetails(model, name) {
  const [words, { examples }] = await Promise.all([
    askModel(model, "context-words"), model.predicts ? askModel(model, "examples") : { examples: [] }]);
  const top = words.top[name] ?? [], own = examples.filter((each) => each.cluster === name);
  const size = words.class_sizes[name] ?? 0;
  return [pair([
    h("h3", {}, `Words that speak through ${name} features`),
    h("p", { class: "hint" }, `${count(size)} of the ${count(Math.min(20_000, model.words))} most frequent words; those at home in it most:`),
    top.length
      ? h("ul", { class: "words" }, top.map((each) => h("li", {}, h("a", { href: `/words?${query({ word: each.word })}` }, each.word))))
      : empty("No frequent word is at home in this cluster."),
  ], [
    h("h3", {}, "Example sentences"),
    own.length
      ? table("Where the context word stands changes how likely the masked word is", ["sentence", "masked word", "by cluster", "by model"],
        own.flatMap((each) => each.sentences.map((sentence, i) => [
          h("a", { href: `/gap?${query({ sentence, word: each.masked_word })}` }, padded(sentence)),
          h("span", {}, each.masked_word), percent(each.probabilities[i]), percent(each.model_probabilities[i])])))
      : model.predicts ? empty("There are no examples of this cluster.") : vectorsAlone("example sentences"),
  ])];
}

/** A run of [PAD] as what it is: so many places left empty. */
const padded = (sentence) => sentence.replace("[MASK]", "___").replace(/(\[PAD\] ?)+/g, (run) => {
  const places = run.split("[PAD]").length - 1;
  return `(${places} ${places === 1 ? "place" : "places"}) `;
});

const legend = (keys) => h("div", { class: "legend" }, keys);

const swatch = (i) => h("span", { class: `swatch s${i % 4}`, "aria-hidden": true });
