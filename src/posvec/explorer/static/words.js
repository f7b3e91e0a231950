// Words: neighbours, subwords, a map of the neighbourhood, similarities of pairs, analogies.

import { query } from "./api.js";
import { wordMap } from "./charts.js";
import { count, debounced, h, number, percent } from "./dom.js";
import { figure, titled } from "./figure.js";
import { normalize, askModel, empty, pair, sideBySide, wordBars } from "./parts.js";

export const title = "Words";
export const lead = "Neighbours, subwords, similarities and analogies of words.";

const link = (word) => `/words?${query({ word })}`;

/** What happens to words outside the vocabulary, which depends on the models. */
function hint(models) {
  const able = models.filter((model) => model.subwords);
  if (!able.length) return "";
  const where = able.length < models.length ? ` in ${able.map((model) => model.name).join(", ")}` : "";
  return `A word that is not in the vocabulary gets its vector from its subwords${where}.`;
}

export function show(main, models, parameters, setParameters) {
  const initial = (name, fallback) => parameters.get(name) ?? fallback;
  main.append(
    question("Neighbours", "word", [["word", "Word", initial("word", "cat")]],
      hint(models), (model, { word }) => neighbours(model, word)),
    question("Similarity", "pair",
      [["first", "First word", initial("first", "cat")], ["second", "Second word", initial("second", "dog")]], "", similarity),
    question("Analogy", "analogy",
      [["a", "As", initial("a", "man")], ["b", "is to", initial("b", "king")], ["c", "so is", initial("c", "woman")]],
      "to which word?", analogy));

  /** A section with input fields and the answer of each model. */
  function question(name, id, fields, hint, answer) {
    const inputs = fields.map(([field, , value]) => h("input", { id: `${id}-${field}`, name: field, value, maxlength: 200,
      type: "text", autocomplete: "off", autocapitalize: "none", spellcheck: "false" }));
    const answers = h("div", { "aria-live": "polite" });
    const values = (read) => Object.fromEntries(inputs.map((input) => [input.name, read(input.value.trim())]));
    const ask = () => {
      const missing = inputs.some((input) => !input.value.trim());
      answers.replaceChildren(missing ? empty("Type a word into each field.")
        : sideBySide(models, (model) => answer(model, values((word) => normalize(model, word))), "h3"));
    };
    const changed = debounced(() => { setParameters(values(String)); ask(); }, 250);
    for (const input of inputs) input.addEventListener("input", changed);
    const labelled = inputs.map((input, i) =>
      h("div", { class: "field" }, h("label", { for: input.id }, fields[i][1]), input));
    ask();
    return h("section", { class: "question", "aria-label": name },
      h("h2", {}, name), h("div", { class: "fields" }, labelled), hint ? h("p", { class: "hint" }, hint) : "", answers);
  }
}

async function neighbours(model, word) {
  const [near, details, map] = await Promise.all([
    askModel(model, "neighbors", { word, topn: 12 }), askModel(model, "word", { word }), askModel(model, "map", { word })]);
  const frequency = details.in_vocabulary
    ? `${word}: count ${count(details.count)}, frequency rank ${count(details.rank)}.`
    : `${word} is not in the vocabulary: its vector comes from its n-grams.`;
  const rows = map.places.map((each) => [each.word, each.x, each.y, each.similarity]);
  return [
    h("p", {}, frequency), parts(details),
    pair(wordList(near, `Neighbours of ${word}`, model), figure(`Map of the neighbours of ${word}`,
      (width) => wordMap(map.places, `${word} and its ${rows.length - 1} nearest words in two dimensions.`, width, link),
      [["word", "x", "y", "similarity"], ...rows],
      { note: `two principal components, ${percent(map.explained, 0)} of the variance`, of: model.name })),
  ];
}

/** The parts of a word's vector, ordered by the fraction of the vector that they contribute. */
function parts({ word, in_vocabulary, parts: all }) {
  const known = all.filter((each) => each.fraction !== null).sort((left, right) => right.fraction - left.fraction);
  if (all.length < 2) return "";
  const unknown = all.length - known.length;
  const name = (each, i) => (in_vocabulary && each.text === word && i === known.findIndex((e) => e.text === word) ? "the word itself" : each.text);
  return h("details", { open: !in_vocabulary },
    h("summary", {}, `The vector comes from ${known.length} parts${unknown ? `; ${unknown} n-grams have no vector` : ""}`),
    h("ul", { class: "words parts" }, known.map((each, i) => {
      const item = h("li", {}, h("span", {}, name(each, i)), " ", h("small", {}, percent(each.fraction)));
      item.style.setProperty("--fraction", Math.max(0, Math.min(1, each.fraction / (known[0].fraction || 1))));
      return item;
    })));
}

async function similarity(model, { first, second }) {
  const found = await askModel(model, "similarity", { first, second });
  return [h("p", { class: "answer" }, h("strong", {}, number(found.similarity)),
    h("span", {}, first === second ? "the same word" : `${second} has rank ${count(found.rank)} among the neighbours of ${first}`))];
}

async function analogy(model, { a, b, c }) {
  return wordList(await askModel(model, "analogy", { a, b, c, topn: 5 }), `As ${a} is to ${b}, so is ${c} to`, model);
}

const wordList = (near, title, model) => (near.length
  ? [titled(title, model.name, "", [["word", "similarity"], ...near.map((each) => [each.word, each.similarity])]),
    wordBars(near.map((each) => ({ control: h("a", { href: link(each.word) }, each.word), value: each.similarity })), title)]
  : [empty("The vocabulary has no other words.")]);
