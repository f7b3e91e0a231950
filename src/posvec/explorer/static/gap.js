// Fill the gap: which words a model puts into a sentence, and why.

import { Problem } from "./api.js";
import { divergingBars } from "./charts.js";
import { debounced, h, number, signed } from "./dom.js";
import { figure, titled } from "./figure.js";
import { askModel, empty, pair, sideBySide, vectorsAlone, wordBars } from "./parts.js";
import { MASK, PAD, parse, sentenceEditor } from "./sentence.js";

export const title = "Fill the gap";
export const lead = "Which words belong in a sentence, and which of its words say so?";

const EXAMPLES = ["unlike dogs cats [MASK]", "unlike cats dogs [MASK]", "fruit flies like [MASK]"];

export function show(main, models, parameters, keep) {
  let words = parse(parameters.get("sentence") ?? EXAMPLES[0]);
  let asked = parameters.get("word"); // the prediction that is explained; none: the best one of each model
  let earlier = new Map(); // model → word → rank before the last change of the sentence
  const ranks = new Map();
  let turn = 0;

  const input = h("input", { id: "sentence", type: "text", maxlength: 2000, autocomplete: "off", spellcheck: "false" });
  const typed = debounced(() => change(parse(input.value), false), 200);
  input.addEventListener("input", typed);
  const editor = sentenceEditor((now) => change(now));
  const results = h("div", { "aria-live": "polite" });

  main.append(
    h("div", { class: "field" }, h("label", { for: "sentence" }, "Sentence"), input),
    h("p", { class: "choices" }, "Try: ", EXAMPLES.map((each) =>
      h("button", { type: "button", onclick: () => { asked = null; change(parse(each)); } }, each.replace(MASK, "___")))),
    editor.row,
    h("p", { class: "hint" }, "Drag a word to another place. Click between words to put the gap there.",
      h("span", { class: "keys" }, " ", h("kbd", {}, "Shift"), " + ", h("kbd", {}, "←"), " ", h("kbd", {}, "→"),
        " moves the word that has the focus.")),
    results);
  change(words);

  function change(now, retype = true) {
    words = now;
    earlier = new Map(ranks);
    const sentence = words.join(" ");
    if (retype) input.value = sentence;
    editor.show(words);
    refresh();
  }

  function choose(word) {
    asked = word;
    refresh();
    results.querySelector(".bars [aria-pressed=true]")?.focus();
  }

  function refresh() {
    const now = ++turn, sentence = words.join(" ");
    keep({ sentence, word: asked });
    results.setAttribute("aria-busy", String(words.length > 1));
    if (words.length < 2) {
      results.replaceChildren(empty("Type some words around the gap."));
      return;
    }
    const columns = models.map((model) => column(model, sentence));
    Promise.allSettled(columns).then((settled) => {
      if (now !== turn) return; // the sentence has changed since
      const used = settled.flatMap(({ value }) => value?.used ?? []);
      results.replaceChildren(sideBySide(models, async (model) => (await columns[models.indexOf(model)]).nodes));
      results.setAttribute("aria-busy", "false");
      if (!models.some((model) => model.predicts)) return;
      const letters = (word) => word.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
      editor.strike((word) => word !== MASK && word !== PAD && !letters(word).some((part) => used.includes(part)));
    });
  }

  async function column(model, sentence) {
    if (!model.predicts) return { used: [], nodes: [vectorsAlone("predictions")] };
    const { predictions: [best] } = await predicted(model, sentence);
    const chosen = best.find((each) => each.word === asked) ?? best[0];
    const why = await askModel(model, "explanation", { sentence, word: chosen.word });
    const before = earlier.get(model.name);
    ranks.set(model.name, new Map(best.map((each) => [each.word, each.rank])));
    const list = wordBars(best.map(({ word, rank, score, probability }) => ({
      control: h("button", { type: "button", "aria-pressed": word === chosen.word, onclick: () => choose(word) },
        h("span", { class: "rank" }, rank), h("span", { class: "word" }, word), moved(before, word, rank)),
      value: score,
      digits: 2,
      said: [likely(probability)],
    })), `Predictions of ${model.name}`);
    const rows = why.contributions.map((each) => [each.word, each.position, each.value]);
    const items = why.contributions.map((each) => ({ name: each.word, place: signed(each.position), value: each.value }));
    const label = `What context words contribute to ${chosen.word}: ` +
      items.map((each) => `${each.name} ${each.place} ${number(each.value)}`).join(", ");
    return {
      used: why.contributions.map((each) => each.word),
      nodes: [pair(
        [titled("Predictions", model.name, "score and probability", [["rank", "word", "score", "probability"],
          ...best.map((each) => [each.rank, each.word, each.score, each.probability])]),
        asked && chosen.word !== asked ? h("p", { class: "hint" }, `This model does not know ${asked}.`) : "",
        list],
        figure(`Why ${chosen.word}?`, (width) => divergingBars(items, why.score, label, width),
          [["context word", "position", "contribution"], ...rows, ["score", "", why.score]],
          { note: "what each context word, at its position, adds to the score", of: model.name }))],
    };
  }

  /** The best words, and the one asked for if the model knows it. */
  async function predicted(model, sentence) {
    const best = await askModel(model, "masked", { sentence, topn: 10 });
    if (!asked || best.predictions[0].some((each) => each.word === asked)) return best;
    return askModel(model, "masked", { sentence, topn: 10, word: asked }).catch((error) => {
      if (error instanceof Problem) return best;
      throw error;
    });
  }
}

/** Probabilities are close to 1 for all words that fit. */
const likely = (probability) => (probability > 0.9995 ? ">0.999" : number(probability));

/** How far a word has come since the sentence was changed. */
function moved(before, word, rank) {
  if (!before || !before.size) return "";
  const was = before.get(word);
  if (was === rank) return "";
  const said = was === undefined ? "new" : was > rank ? `▲ ${was - rank}` : `▼ ${rank - was}`;
  return h("span", { class: "moved" }, said);
}
