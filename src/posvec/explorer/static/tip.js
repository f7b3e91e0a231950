// The one small box that shows a value beside the pointer, or beside what has the focus.

const box = document.querySelector("#tip");

export function showTip(text, x, y) {
  box.textContent = text;
  box.hidden = false;
  const { width, height } = box.getBoundingClientRect();
  box.style.left = `${Math.min(Math.max(8, x + 14), innerWidth - width - 8)}px`;
  box.style.top = `${y - height - 12 > 0 ? y - height - 12 : y + 20}px`;
}

export function hideTip() {
  box.hidden = true;
}

addEventListener("pointerdown", hideTip, true); // before the element that is pressed shows its own
addEventListener("scroll", hideTip, { passive: true, capture: true });

/** Calls `read(event)` while the pointer is over an element, then `forget()`; a finger need not stay there. */
export function pointed(element, read, forget) {
  for (const name of ["pointerdown", "pointermove"]) element.addEventListener(name, read);
  element.addEventListener("pointerleave", (event) => { if (event.pointerType !== "touch") forget(); });
}

/** Shows what `text(event)` says while the pointer is over an element. */
export function tipped(element, text) {
  pointed(element, (event) => {
    const said = text(event);
    if (said) showTip(said, event.clientX, event.clientY);
    else hideTip();
  }, hideTip);
  return element;
}
