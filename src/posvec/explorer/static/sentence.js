// A sentence of words that can be moved, with a gap that can be put between any two of them.

import { h } from "./dom.js";

export const MASK = "[MASK]";
export const PAD = "[PAD]"; // holds a position

/** Words of what was typed: the first [MASK] or ___ is the gap, which else stands at the end. */
export function parse(typed) {
  const words = typed.replace(/\[MASK\]|_{2,}/gi, ` ${MASK} `).split(/\s+/).filter(Boolean);
  const gap = words.indexOf(MASK);
  return gap < 0 ? [...words, MASK] : words.filter((word, i) => word !== MASK || i === gap);
}

/**
 * An element that shows words; `changed(words)` hears of every change. `show(words)` shows others; `strike(unused)`
 * strikes those that do not count and leaves all in place, as one may be under a finger.
 */
export function sentenceEditor(changed) {
  const row = h("div", { class: "sentence", role: "group", "aria-label": "The words of the sentence" });
  let words = [];

  const change = (now, focused) => {
    words = now;
    changed(words);
    if (focused !== undefined) row.querySelectorAll(".chip")[focused]?.focus();
  };
  const move = (from, to) => {
    if (from === to) return;
    const now = words.toSpliced(from, 1);
    change(now.toSpliced(to, 0, words[from]), to);
  };
  const putGap = (before) => {
    const gap = words.indexOf(MASK);
    move(gap, before > gap ? before - 1 : before);
  };
  const remove = (at) => {
    if (words[at] !== MASK) change(words.toSpliced(at, 1), Math.max(0, at - 1));
  };

  const onkey = (event, at) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const to = at + by;
    if (event.key === "Delete" || event.key === "Backspace") remove(at);
    else if (!by || to < 0 || to >= words.length) return;
    else if (event.shiftKey || event.altKey) move(at, to);
    else row.querySelectorAll(".chip")[to].focus();
    event.preventDefault();
  };

  const chip = (word, at) => {
    const isGap = word === MASK;
    const { kind, said, shown } = { [MASK]: { kind: " gap", said: "the gap", shown: "" },
      [PAD]: { kind: " pad", said: "an empty place", shown: "·" } }[word] ?? { kind: "", said: word, shown: word };
    const element = h("button", {
      type: "button",
      class: `chip${kind}`,
      "aria-label": said,
      "aria-description": "Shift and an arrow key move it" + (isGap ? "" : ", Delete removes it"),
      onkeydown: (event) => onkey(event, at),
    }, shown);
    dragged(element, row, (slot) => move(at, slot > at ? slot - 1 : slot));
    return element;
  };

  const slot = (before) => {
    const gap = words.indexOf(MASK);
    if (before === gap || before === gap + 1) return h("span", { class: "slot", "data-slot": before });
    const where = before < words.length ? `before ${words[before]}` : "at the end";
    return h("button", { type: "button", class: "slot", "data-slot": before, "aria-label": `Put the gap ${where}`,
      onclick: () => putGap(before) });
  };

  const show = (now) => {
    words = now;
    // A slot and the word after it stay together where lines break.
    const places = words.map((word, at) => h("span", { class: "place" }, slot(at), chip(word, at)));
    places.at(-1).append(slot(words.length));
    row.replaceChildren(...places);
  };

  const strike = (unused) => {
    row.querySelectorAll(".chip").forEach((element, at) => {
      const struck = unused(words[at]);
      element.classList.toggle("unused", struck);
      element.title = struck ? "not a context word here: the models have no vector for it, or it is too far from the gap" : "";
    });
  };
  return { row, show, strike };
}

/** Lets a chip be dragged by mouse, pen or finger to a slot of its row; `dropped` hears which. */
function dragged(chip, row, dropped) {
  let from = null, target = null;
  const end = () => {
    row.querySelector(".target")?.classList.remove("target");
    chip.classList.remove("dragged");
    chip.style.transform = "";
    from = target = null;
  };
  chip.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || !event.isPrimary) return; // not a second finger
    from = { x: event.clientX, y: event.clientY };
    chip.setPointerCapture(event.pointerId); // moves are heard wherever they go
  });
  chip.addEventListener("pointermove", (event) => {
    if (!from) return;
    const [x, y] = [event.clientX - from.x, event.clientY - from.y];
    if (!chip.classList.contains("dragged")) {
      if (Math.hypot(x, y) < 5) return; // a click that trembles
      chip.classList.add("dragged");
    }
    chip.style.transform = `translate(${x}px, ${y}px)`;
    const away = (slot) => {
      const box = slot.getBoundingClientRect();
      return Math.hypot(box.left + box.width / 2 - event.clientX, 3 * (box.top + box.height / 2 - event.clientY));
    };
    const nearest = [...row.querySelectorAll(".slot")].reduce((one, other) => (away(other) < away(one) ? other : one));
    if (nearest === target) return;
    target?.classList.remove("target");
    target = nearest;
    target.classList.add("target");
  });
  chip.addEventListener("pointerup", () => {
    const slot = target?.dataset.slot;
    end();
    if (slot !== undefined) dropped(Number(slot));
  });
  chip.addEventListener("pointercancel", end);
}
