// An editor of a sentence: its words can be moved, and the gap can be put between any two of them.

import { h } from "./dom.js";

export const MASK = "[MASK]";
export const PAD = "[PAD]"; // an empty position

/** The words of a text. The first [MASK] or ___ is the gap; without one, the gap is at the end. */
export function parse(text) {
  const words = text.replace(/\[MASK\]|_{2,}/gi, ` ${MASK} `).split(/\s+/).filter(Boolean);
  const gap = words.indexOf(MASK);
  return gap < 0 ? [...words, MASK] : words.filter((word, i) => word !== MASK || i === gap);
}

/**
 * The element `row` shows words; `changed(words)` is called after every change. `show(words)` shows other words.
 * `markUnused(isUnused)` strikes words through without replacing their elements, because one may be being dragged.
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

  const onKey = (event, at) => {
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
    const { style, label, text } = { [MASK]: { style: " gap", label: "the gap", text: "" },
      [PAD]: { style: " pad", label: "an empty position", text: "·" } }[word] ?? { style: "", label: word, text: word };
    const element = h("button", {
      type: "button",
      class: `chip${style}`,
      "aria-label": label,
      "aria-description": "Shift and an arrow key move it" + (isGap ? "" : ", Delete removes it"),
      onkeydown: (event) => onKey(event, at),
    }, text);
    makeDraggable(element, row, (slot) => move(at, slot > at ? slot - 1 : slot));
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
    // A slot and the word after it share an element, so that no line breaks between them.
    const elements = words.map((word, at) => h("span", { class: "word-and-slot" }, slot(at), chip(word, at)));
    elements.at(-1).append(slot(words.length));
    row.replaceChildren(...elements);
  };

  const markUnused = (isUnused) => {
    row.querySelectorAll(".chip").forEach((element, at) => {
      const unused = isUnused(words[at]);
      element.classList.toggle("unused", unused);
      element.title = unused ? "not a context word here: the models have no vector for it, or it is too far from the gap" : "";
    });
  };
  return { row, show, markUnused };
}

/** Makes a chip draggable by mouse, pen or finger to a slot of its row; calls `dropped` with the index of the slot. */
function makeDraggable(chip, row, dropped) {
  let start = null, target = null;
  const end = () => {
    row.querySelector(".target")?.classList.remove("target");
    chip.classList.remove("dragging");
    chip.style.transform = "";
    start = target = null;
  };
  chip.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || !event.isPrimary) return; // not a second finger
    start = { x: event.clientX, y: event.clientY };
    chip.setPointerCapture(event.pointerId); // pointermove events outside the chip, too
  });
  chip.addEventListener("pointermove", (event) => {
    if (!start) return;
    const [x, y] = [event.clientX - start.x, event.clientY - start.y];
    if (!chip.classList.contains("dragging")) {
      if (Math.hypot(x, y) < 5) return; // a click, not a drag
      chip.classList.add("dragging");
    }
    chip.style.transform = `translate(${x}px, ${y}px)`;
    const distance = (slot) => {
      const box = slot.getBoundingClientRect();
      return Math.hypot(box.left + box.width / 2 - event.clientX, 3 * (box.top + box.height / 2 - event.clientY));
    };
    const nearest = [...row.querySelectorAll(".slot")].reduce((best, other) => (distance(other) < distance(best) ? other : best));
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
