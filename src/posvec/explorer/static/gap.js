// Fill the gap: predictions of the masked word of a sentence, and the contributions of its context words.

import { Problem } from "./api.js";
import { divergingBars } from "./charts.js";
import { debounced, h, number, signed } from "./dom.js";
import { figure, titled } from "./figure.js";
import { askModel, empty, pair, sideBySide, vectorsOnly, wordBars } from "./parts.js";
import { MASK, PAD, parse, sentenceEditor } from "./sentence.js";

export const title = "Fill the gap";
export const lead = "Predictions of a masked word, and what each context word contributes to them.";

const EXAMPLES = ["unlike dogs cats [MASK]", "unlike cats dogs [MASK]", "fruit flies like [MASK]",
  "albert [MASK] and isaac newton", "isaac [MASK] and albert einstein", "eat [MASK] and drink water"];

export function show(main, models, parameters, setParameters) {
  let words = parse(parameters.get("sentence") ?? EXAMPLES[0]);
  let selected = parameters.get("word"); // the prediction that is explained; null: the best one of each model
  let previousRanks = new Map(); // model → word → rank before the last change of the sentence
  const ranks = new Map();
  let version = 0; // of the sentence and the selection

  const input = h("input", { id: "sentence", type: "text", maxlength: 2000, autocomplete: "off", spellcheck: "false" });
  const onInput = debounced(() => change(parse(input.value), false), 200);
  input.addEventListener("input", onInput);
  const editor = sentenceEditor((now) => change(now));
  const results = h("div", { "aria-live": "polite" });

  main.append(
    h("div", { class: "field" }, h("label", { for: "sentence" }, "Sentence"), input),
    h("p", { class: "choices" }, "Try: ", EXAMPLES.map((each) =>
      h("button", { type: "button", onclick: () => { selected = null; change(parse(each)); } }, each.replace(MASK, "___")))),
    editor.row,
    h("p", { class: "hint" }, "Drag a word to another position. Click between words to move the gap there.",
      h("span", { class: "keys" }, " ", h("kbd", {}, "Shift"), " + ", h("kbd", {}, "←"), " ", h("kbd", {}, "→"),
        " moves the focused word.")),
    results);
  change(words);

  function change(now, updateInput = true) {
    words = now;
    previousRanks = new Map(ranks);
    const sentence = words.join(" ");
    if (updateInput) input.value = sentence;
    editor.show(words);
    refresh();
  }

  function select(word) {
    selected = word;
    refresh();
    results.querySelector(".bars [aria-pressed=true]")?.focus();
  }

  function refresh() {
    const current = ++version, sentence = words.join(" ");
    setParameters({ sentence, word: selected });
    results.setAttribute("aria-busy", String(words.length > 1));
    if (words.length < 2) {
      results.replaceChildren(empty("Type some words around the gap."));
      return;
    }
    const columns = models.map((model) => column(model, sentence));
    Promise.allSettled(columns).then((settled) => {
      if (current !== version) return; // the sentence has changed in the meantime
      const used = settled.flatMap(({ value }) => value?.used ?? []);
      results.replaceChildren(sideBySide(models, async (model) => (await columns[models.indexOf(model)]).nodes));
      results.setAttribute("aria-busy", "false");
      if (!models.some((model) => model.can_predict)) return;
      const letters = (word) => word.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
      editor.markUnused((word) => word !== MASK && word !== PAD && !letters(word).some((part) => used.includes(part)));
    });
  }

  async function column(model, sentence) {
    if (!model.can_predict) return { used: [], nodes: [vectorsOnly("predictions")] };
    const { predictions: [best] } = await predict(model, sentence);
    const explained = best.find((each) => each.word === selected) ?? best[0];
    const explanation = await askModel(model, "explanation", { sentence, word: explained.word });
    const previous = previousRanks.get(model.name);
    ranks.set(model.name, new Map(best.map((each) => [each.word, each.rank])));
    const list = wordBars(best.map(({ word, rank, score, probability }) => ({
      control: h("button", { type: "button", "aria-pressed": word === explained.word, onclick: () => select(word) },
        h("span", { class: "rank" }, rank), h("span", { class: "word" }, word), rankChange(previous, word, rank)),
      value: probability,
      digits: 3,
      columns: [number(score)],
    })), `Predictions of ${model.name}`);
    const parts = explanation.contributions;
    const logProbability = parts.reduce((sum, each) => sum + each.value, explanation.prior);
    const rows = [["prior", "", explanation.prior], ...parts.map((each) => [each.word, each.position, each.value])];
    const items = [{ name: "prior", position: "", value: explanation.prior },
      ...parts.map((each) => ({ name: each.word, position: signed(each.position), value: each.value }))];
    const label = `Contributions to the log-probability of ${explained.word}: ` +
      items.map((each) => `${each.name} ${each.position} ${number(each.value)}`).join(", ");
    return {
      used: explanation.contributions.map((each) => each.word),
      nodes: [pair(
        [titled("Predictions", model.name, "probability and score", [["rank", "word", "score", "probability"],
          ...best.map((each) => [each.rank, each.word, each.score, each.probability])]),
        selected && explained.word !== selected ? h("p", { class: "hint" }, `This model does not know ${selected}.`) : "",
        list],
        figure(`Why ${explained.word}?`, (width) => divergingBars(items, logProbability, "log-prob.", label, width),
          [["context word", "position", "contribution"], ...rows, ["log-probability", "", logProbability]],
          { note: "how frequent the word is (prior), and what each context word adds to its log-probability",
            of: model.name }))],
    };
  }

  /** The best words, and the selected word if the model knows it. */
  async function predict(model, sentence) {
    const best = await askModel(model, "masked", { sentence, topn: 10 });
    if (!selected || best.predictions[0].some((each) => each.word === selected)) return best;
    return askModel(model, "masked", { sentence, topn: 10, word: selected }).catch((error) => {
      if (error instanceof Problem) return best;
      throw error;
    });
  }
}

/** The change of a word's rank since the last change of the sentence. */
function rankChange(previous, word, rank) {
  if (!previous || !previous.size) return "";
  const before = previous.get(word);
  if (before === rank) return "";
  const text = before === undefined ? "new" : before > rank ? `▲ ${before - rank}` : `▼ ${rank - before}`;
  return h("span", { class: "rank-change" }, text);
}
