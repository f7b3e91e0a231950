// Model: settings, training, sizes, and evaluation of files that are dropped on the page.

import { evaluate } from "./api.js";
import { lines } from "./charts.js";
import { count, h, number, percent, table } from "./dom.js";
import { figure, titled } from "./figure.js";
import { askModel, empty, heading, pair, sideBySide } from "./parts.js";

export const title = "Model";
export const lead = "Settings, sizes, training and evaluation.";

const STORAGE_KEY = "posvec-results"; // sessionStorage keeps the results while the tab is open
const MAX_BYTES = 16 * 1024 * 1024;

export function show(main, models) {
  const closing = new AbortController();
  main.append(sideBySide(models, describe), evaluation(models, closing.signal));
  return () => closing.abort();
}

async function describe(model) {
  const { summary, ngram_rows, bytes, settings, report, interrupted } = await askModel(model, "model");
  const { word_dim: wordDim, epochs, last_epoch: lastEpoch } = Object.fromEntries(settings.map((each) => [each.name, each.value]));
  const facts = [
    ["kind", summary.kind], ["words", count(summary.words)], ["n-gram rows", count(ngram_rows)],
    ["features D", count(summary.dim)], ...(wordDim ? [["word head W", count(wordDim)]] : []),
    ["positional D′", count(summary.positional_dim)], ["window c", count(summary.window)],
    ["parameters", `${number(bytes / 1e6, 0)} MB`],
  ];
  const kind = summary.kind === "two-heads" ? "model with two heads" : `${summary.kind} model`;
  const text = (name, each) => (each === null ? "none" : String(name === "last_epoch" ? Number(each.toPrecision(3)) : each));
  const value = (each) => text(each.name, each.value) + (each.origin && ` (${each.origin})`);
  const changed = settings.filter((each) => each.value !== each.default);
  return [
    h("dl", { class: "facts" }, facts.map(([name, text]) => h("div", {}, h("dt", {}, name), h("dd", {}, text)))),
    pair([h("h3", {}, "Training"), ...training(model, report, interrupted, epochs - 1 + lastEpoch)], [h("h3", {}, "Settings"), changed.length
      ? table(`Settings that differ from the defaults of a ${kind}`, ["setting", "value", "default"],
        changed.map((each) => [h("span", { title: each.help }, each.name), value(each), text(each.name, each.default)]))
      : h("p", {}, `All settings have the defaults of a ${kind}.`),
    h("details", {}, h("summary", {}, "All settings"),
      table("All settings", ["setting", "value", "meaning"], settings.map((each) => [each.name, value(each), each.help])))]),
  ];
}

function training(model, report, interrupted, planned) {
  if (!report) return [empty(interrupted ? "Training was interrupted." : "The model has no training report.")];
  const { epochs, tokens, lines: lineCount, seconds, words, threads, loss } = report;
  // The last of the planned epochs may be a part of one.
  const trained = epochs.length === Math.ceil(planned) ? Number(planned.toPrecision(3)) : epochs.length;
  const summary = `${count(trained)} ${epochs.length === 1 ? "epoch" : "epochs"} over ${count(tokens)} words in ${count(lineCount)} lines took ` +
    `${number(seconds, 0)} s on ${threads} ${threads === 1 ? "thread" : "threads"} (${count(Math.round(words / (seconds || 1)))} words/s); ` +
    `loss ${number(loss, 4)} per masked word.`;
  if (epochs.length < 2) return [h("p", {}, summary)];
  const validated = epochs.some((each) => each.validation_loss !== null);
  const series = [{ name: "loss", values: epochs.map((each) => each.loss) },
    ...(validated ? [{ name: "validation loss", values: epochs.map((each) => each.validation_loss) }] : [])];
  return [h("p", {}, summary), figure("Loss by epoch",
    (width) => lines(epochs.map((_, i) => i + 1), series, "Loss after each epoch.", width, { digits: 4, zero: false }),
    [["epoch", "loss", "validation loss", "seconds"],
      ...epochs.map((each, i) => [i + 1, each.loss, each.validation_loss, each.seconds])],
    { note: validated ? "solid: training loss; dashed: loss on the validation lines" : "per masked word", of: model.name })];
}

/** A drop zone for files, and their results. */
function evaluation(models, signal) {
  const results = h("div", { class: "results", "aria-live": "polite" });
  const progress = h("div", {});
  const kind = h("select", { id: "kind" },
    [["auto", "detect from the lines"], ["analogy", "analogies"], ["similarity", "word pairs with a score"]]
      .map(([value, text]) => h("option", { value }, text)));
  const input = h("input", { type: "file", id: "file", class: "hidden", multiple: true, accept: ".txt,.tsv,.csv,text/*" });
  const zone = h("div", { class: "drop" },
    h("p", {}, "Drop files here, or ", h("label", { for: "file", class: "button" }, "choose files"), input),
    h("p", { class: "hint" }, "A line of analogies is “Athens Greece Oslo Norway”; a line of word pairs with a score is “tiger cat 7.35”."),
    h("div", { class: "field inline" }, h("label", { for: "kind" }, "File type"), kind));
  let waiting = 0, last = Promise.resolve();

  /** Evaluates files one after the other. */
  const enqueue = (files) => {
    if (!waiting) progress.replaceChildren();
    for (const file of files) {
      waiting += 1;
      last = last.then(() => evaluateFile(file)).then(() => { waiting -= 1; });
    }
  };
  input.addEventListener("change", () => { enqueue([...input.files]); input.value = ""; });
  for (const name of ["dragover", "drop", "dragleave"]) {
    addEventListener(name, (event) => {
      event.preventDefault();
      zone.classList.toggle("over", name === "dragover");
      if (name === "drop") enqueue(event.dataTransfer?.files ?? []);
    }, { signal });
  }

  async function evaluateFile(file) {
    for (const model of models) {
      const bar = h("progress", { max: 1, value: 0, "aria-label": `${file.name} with ${model.name}` });
      const label = h("span", { class: "hint" }, `${file.name} · ${model.name}`);
      const row = h("p", { class: "progress" }, label, bar);
      progress.append(row);
      try {
        if (file.size > MAX_BYTES) throw new Error(`${file.name} has more than ${count(MAX_BYTES)} bytes; drop a smaller file.`);
        const answer = await evaluate(model.name, file, kind.value, (fraction) => { bar.value = fraction; }, signal);
        const others = storedResults().filter((each) => each.model !== model.name || each.file !== file.name);
        sessionStorage.setItem(STORAGE_KEY, JSON.stringify([{ model: model.name, file: file.name, ...answer }, ...others].slice(0, 50)));
        row.remove();
      } catch (error) {
        if (error.name !== "AbortError") row.replaceChildren(h("span", { class: "problem", role: "alert" }, `${model.name}: ${error.message}`));
      }
      showResults();
    }
  }

  function showResults() {
    const own = storedResults().filter((each) => models.some((model) => model.name === each.model));
    results.replaceChildren(...(own.length ? models.map((model) => {
      const ofModel = own.filter((each) => each.model === model.name);
      return h("section", { class: "column", "aria-label": `Results of ${model.name}` },
        models.length > 1 ? heading(model, "h3") : "", ofModel.length ? ofModel.map(resultTable) : empty("No results yet."));
    }) : [empty("No results yet.")]));
  }

  results.classList.add("columns");
  showResults();
  return h("section", { "aria-label": "Evaluation" }, h("h2", {}, "Evaluation"), zone, progress, results);
}

function storedResults() {
  try {
    return JSON.parse(sessionStorage.getItem(STORAGE_KEY) ?? "[]");
  } catch {
    return [];
  }
}

function resultTable({ model, file, kind, result }) {
  const [columns, rows] = kind === "analogy"
    ? [["section", "accuracy", "correct", "questions", "coverage"],
      [...result.sections, ...result.groups, { ...result, name: "total" }].map((each) => [each.name,
        each.accuracy === null ? "" : percent(each.accuracy), count(each.correct), count(each.total), percent(each.coverage)])]
    : [["file", "Spearman", "Pearson", "pairs", "coverage"], result.files.map((each) =>
      [each.name, number(each.spearman), number(each.pearson), count(each.pairs), percent(each.coverage)])];
  const asked = result.total + result.skipped;
  const sample = result.left_out ? `; a random sample of ${count(asked)} of ${count(asked + result.left_out)} questions` : "";
  const caption = kind === "analogy"
    ? `${result.method} ${result.restrict_vocab ? `among the ${count(result.restrict_vocab)} most frequent words` : "among all words"}${sample}`
    : "correlations of cosines with the scores";
  const name = `${file} · ${kind === "analogy" ? "analogies" : "similarity"}`;
  return h("div", { class: "result" },
    titled(name, model, "", [columns, ...rows.map((row) => row.map((cell) => cell.replace("−", "-")))]),
    table(caption, columns, rows));
}
