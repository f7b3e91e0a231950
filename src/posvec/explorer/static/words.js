// Words: neighbours, what a word is made of, its surroundings as a map, pairs and analogies.

import { query } from "./api.js";
import { wordMap } from "./charts.js";
import { count, debounced, h, number, percent } from "./dom.js";
import { figure, titled } from "./figure.js";
import { asRead, askModel, empty, pair, sideBySide, wordBars } from "./parts.js";

export const title = "Words";
export const lead = "Which words are alike, and what are they made of?";

const link = (word) => `/words?${query({ word })}`;

export function show(main, models, parameters, keep) {
  const given = (name, otherwise) => parameters.get(name) ?? otherwise;
  main.append(
    question("Neighbours", "word", [["word", "Word", given("word", "cat")]],
      "Any word: one that was never read gets its vector from its parts.", (model, { word }) => neighbours(model, word)),
    question("Two words", "pair", [["one", "One", given("one", "cat")], ["other", "Other", given("other", "dog")]], "",
      similarity),
    question("Analogy", "analogy",
      [["a", "As", given("a", "man")], ["b", "is to", given("b", "king")], ["c", "so is", given("c", "woman")]],
      "to which word?", analogy));

  /** A section with fields, and what each model answers. */
  function question(name, id, fields, hint, answer) {
    const inputs = fields.map(([field, , value]) => h("input", { id: `${id}-${field}`, name: field, value, maxlength: 200,
      type: "text", autocomplete: "off", autocapitalize: "none", spellcheck: "false" }));
    const answers = h("div", { "aria-live": "polite" });
    const values = (read) => Object.fromEntries(inputs.map((input) => [input.name, read(input.value.trim())]));
    const ask = () => {
      const missing = inputs.some((input) => !input.value.trim());
      answers.replaceChildren(missing ? empty("Type a word into each field.")
        : sideBySide(models, (model) => answer(model, values((word) => asRead(model, word))), "h3"));
    };
    const changed = debounced(() => { keep(values(String)); ask(); }, 250);
    for (const input of inputs) input.addEventListener("input", changed);
    const labelled = inputs.map((input, i) =>
      h("div", { class: "field" }, h("label", { for: input.id }, fields[i][1]), input));
    ask();
    return h("section", { class: "question", "aria-label": name },
      h("h2", {}, name), h("div", { class: "fields" }, labelled), hint ? h("p", { class: "hint" }, hint) : "", answers);
  }
}

async function neighbours(model, word) {
  const [near, about, map] = await Promise.all([
    askModel(model, "neighbors", { word, topn: 12 }), askModel(model, "word", { word }), askModel(model, "map", { word })]);
  const known = about.in_vocabulary
    ? `${word} was read ${count(about.count)} times and is word number ${count(about.rank)}.`
    : `${word} is not in the vocabulary: its vector is the mean of its subwords.`;
  const rows = map.places.map((each) => [each.word, each.x, each.y, each.similarity]);
  return [
    h("p", {}, known), parts(about),
    pair(wordList(near, `Neighbours of ${word}`, model), figure(`Map around ${word}`,
      (width) => wordMap(map.places, `${word} and its ${rows.length - 1} nearest words in two dimensions.`, width, link),
      [["word", "x", "y", "similarity"], ...rows],
      { note: `two principal components, ${percent(map.explained, 0)} of the variance`, of: model.name })),
  ];
}

/** The subwords of a word by their share of its vector. */
function parts({ word, in_vocabulary, parts: all }) {
  const known = all.filter((each) => each.share !== null).sort((one, other) => other.share - one.share);
  if (all.length < 2) return "";
  const unknown = all.length - known.length;
  const name = (each, i) => (in_vocabulary && each.text === word && i === known.findIndex((e) => e.text === word) ? "the word itself" : each.text);
  return h("details", { open: !in_vocabulary },
    h("summary", {}, `Made of ${known.length} parts${unknown ? `, ${unknown} more are unknown` : ""}`),
    h("ul", { class: "words parts" }, known.map((each, i) => {
      const item = h("li", {}, h("span", {}, name(each, i)), " ", h("small", {}, percent(each.share)));
      item.style.setProperty("--share", Math.max(0, Math.min(1, each.share / (known[0].share || 1))));
      return item;
    })));
}

async function similarity(model, { one, other }) {
  const found = await askModel(model, "similarity", { one, other });
  return [h("p", { class: "answer" }, h("strong", {}, number(found.similarity)),
    h("span", {}, one === other ? "a word and itself" : `${other} is neighbour number ${count(found.rank)} of ${one}`))];
}

async function analogy(model, { a, b, c }) {
  return wordList(await askModel(model, "analogy", { a, b, c, topn: 5 }), `As ${a} is to ${b}, so is ${c} to`, model);
}

const wordList = (near, title, model) => (near.length
  ? [titled(title, model.name, "", [["word", "similarity"], ...near.map((each) => [each.word, each.similarity])]),
    wordBars(near.map((each) => ({ control: h("a", { href: link(each.word) }, each.word), value: each.similarity })), title)]
  : [empty("There are no other words.")]);
