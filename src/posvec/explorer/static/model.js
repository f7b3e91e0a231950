// Model: settings, training, sizes; and files of questions that are dropped on the page.

import { evaluate } from "./api.js";
import { lines } from "./charts.js";
import { count, h, number, percent, table } from "./dom.js";
import { figure, titled } from "./figure.js";
import { askModel, empty, heading, pair, sideBySide } from "./parts.js";

export const title = "Model";
export const lead = "What was trained, how, and how well does it do?";

const KEPT = "posvec-results"; // results stay while the tab is open
const MOST_BYTES = 16 * 1024 * 1024;

export function show(main, models) {
  const ended = new AbortController();
  main.append(sideBySide(models, about), evaluation(models, ended.signal));
  return () => ended.abort();
}

async function about(model) {
  const { summary, ngram_rows, bytes, settings, report, interrupted } = await askModel(model, "model");
  const facts = [
    ["kind", summary.kind], ["words", count(summary.words)], ["n-gram rows", count(ngram_rows)],
    ["features D", count(summary.dim)], ["positional D′", count(summary.positional_dim)], ["window c", count(summary.window)],
    ["parameters", `${number(bytes / 1e6, 0)} MB`],
  ];
  const value = (each) => (each === null ? "none" : String(each));
  const changed = settings.filter((each) => each.value !== each.default);
  return [
    h("dl", { class: "facts" }, facts.map(([name, said]) => h("div", {}, h("dt", {}, name), h("dd", {}, said)))),
    pair([h("h3", {}, "Training"), ...training(model, report, interrupted)], [h("h3", {}, "Settings"), changed.length
      ? table("Settings that differ from the defaults", ["setting", "value", "default"],
        changed.map((each) => [h("span", { title: each.help }, each.name), value(each.value), value(each.default)]))
      : h("p", {}, "All settings are the defaults."),
    h("details", {}, h("summary", {}, "All settings"),
      table("All settings", ["setting", "value", "meaning"], settings.map((each) => [each.name, value(each.value), each.help])))]),
  ];
}

function training(model, report, interrupted) {
  if (!report) return [empty(interrupted ? "Training was interrupted." : "The model has no training report.")];
  const { epochs, tokens, lines: read, seconds, words, threads, loss } = report;
  const story = `${count(epochs.length)} ${epochs.length === 1 ? "epoch" : "epochs"} over ${count(tokens)} words in ${count(read)} lines took ` +
    `${number(seconds, 0)} s on ${threads} ${threads === 1 ? "thread" : "threads"} (${count(Math.round(words / (seconds || 1)))} words/s); ` +
    `loss ${number(loss, 4)} per masked word.`;
  if (epochs.length < 2) return [h("p", {}, story)];
  const held = epochs.some((each) => each.validation_loss !== null);
  const series = [{ name: "loss", values: epochs.map((each) => each.loss) },
    ...(held ? [{ name: "held out", values: epochs.map((each) => each.validation_loss) }] : [])];
  return [h("p", {}, story), figure("Loss of each epoch",
    (width) => lines(epochs.map((_, i) => i + 1), series, "Loss after each epoch.", width, { digits: 4, zero: false }),
    [["epoch", "loss", "validation loss", "seconds"],
      ...epochs.map((each, i) => [i + 1, each.loss, each.validation_loss, each.seconds])],
    { note: held ? "solid: of the corpus; dashed: of lines held out" : "per masked word", of: model.name })];
}

/** A place to drop files on, and what came of those that were dropped. */
function evaluation(models, signal) {
  const results = h("div", { class: "results", "aria-live": "polite" });
  const progress = h("div", {});
  const kind = h("select", { id: "kind" },
    [["auto", "what its lines look like"], ["analogy", "analogies"], ["similarity", "pairs with a score"]]
      .map(([value, said]) => h("option", { value }, said)));
  const input = h("input", { type: "file", id: "file", class: "hidden", multiple: true, accept: ".txt,.tsv,.csv,text/*" });
  const zone = h("div", { class: "drop" },
    h("p", {}, "Drop files here, or ", h("label", { for: "file", class: "button" }, "choose some"), input),
    h("p", { class: "hint" }, "Lines “Athens Greece Oslo Norway” are analogies, lines “tiger cat 7.35” pairs with a score."),
    h("div", { class: "field inline" }, h("label", { for: "kind" }, "Read it as"), kind));
  let waiting = 0, last = Promise.resolve();

  /** Runs files one after the other. */
  const take = (files) => {
    if (!waiting) progress.replaceChildren();
    for (const file of files) {
      waiting += 1;
      last = last.then(() => run(file)).then(() => { waiting -= 1; });
    }
  };
  input.addEventListener("change", () => { take([...input.files]); input.value = ""; });
  for (const name of ["dragover", "drop", "dragleave"]) {
    addEventListener(name, (event) => {
      event.preventDefault();
      zone.classList.toggle("over", name === "dragover");
      if (name === "drop") take(event.dataTransfer?.files ?? []);
    }, { signal });
  }

  async function run(file) {
    for (const model of models) {
      const bar = h("progress", { max: 1, value: 0, "aria-label": `${file.name} with ${model.name}` });
      const said = h("span", { class: "hint" }, `${file.name} · ${model.name}`);
      const row = h("p", { class: "progress" }, said, bar);
      progress.append(row);
      try {
        if (file.size > MOST_BYTES) throw new Error(`${file.name} has more than ${count(MOST_BYTES)} bytes; drop a smaller file.`);
        const found = await evaluate(model.name, file, kind.value, (share) => { bar.value = share; }, signal);
        const kept = stored().filter((each) => each.model !== model.name || each.file !== file.name);
        sessionStorage.setItem(KEPT, JSON.stringify([{ model: model.name, file: file.name, ...found }, ...kept].slice(0, 50)));
        row.remove();
      } catch (error) {
        if (error.name !== "AbortError") row.replaceChildren(h("span", { class: "problem", role: "alert" }, `${model.name}: ${error.message}`));
      }
      list();
    }
  }

  function list() {
    const own = stored().filter((each) => models.some((model) => model.name === each.model));
    results.replaceChildren(...(own.length ? models.map((model) => {
      const of = own.filter((each) => each.model === model.name);
      return h("section", { class: "column", "aria-label": `Results of ${model.name}` },
        models.length > 1 ? heading(model, "h3") : "", of.length ? of.map(result) : empty("No results yet."));
    }) : [empty("No results yet.")]));
  }

  results.classList.add("columns");
  list();
  return h("section", { "aria-label": "Evaluation" }, h("h2", {}, "Evaluation"), zone, progress, results);
}

function stored() {
  try {
    return JSON.parse(sessionStorage.getItem(KEPT) ?? "[]");
  } catch {
    return [];
  }
}

function result({ model, file, kind, result: found }) {
  const [columns, rows] = kind === "analogy"
    ? [["section", "accuracy", "right", "asked", "covered"],
      [...found.sections, ...found.groups, { ...found, name: "total" }].map((each) => [each.name,
        each.accuracy === null ? "" : percent(each.accuracy), count(each.correct), count(each.total), percent(each.coverage)])]
    : [["file", "Spearman", "Pearson", "pairs", "covered"], found.files.map((each) =>
      [each.name, number(each.spearman), number(each.pearson), count(each.pairs), percent(each.coverage)])];
  const how = kind === "analogy"
    ? `${found.method} ${found.restrict_vocab ? `among the ${count(found.restrict_vocab)} most frequent words` : "among all words"}`
    : "correlation of cosines with the scores";
  const name = `${file} · ${kind === "analogy" ? "analogies" : "similarity"}`;
  return h("div", { class: "result" },
    titled(name, model, "", [columns, ...rows.map((row) => row.map((cell) => cell.replace("−", "-")))]),
    table(how, columns, rows));
}
