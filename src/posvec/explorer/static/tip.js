// The tooltip: one box that shows a value beside the pointer or the focused element.

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

addEventListener("pointerdown", hideTip, true); // capture: before the pressed element shows its own tooltip
addEventListener("scroll", hideTip, { passive: true, capture: true });

/** Calls `show(event)` while the pointer is over an element and `hide()` when it leaves, except for a finger. */
export function onPointer(element, show, hide) {
  for (const name of ["pointerdown", "pointermove"]) element.addEventListener(name, show);
  element.addEventListener("pointerleave", (event) => { if (event.pointerType !== "touch") hide(); });
}

/** Shows the tooltip `text(event)` while the pointer is over an element. */
export function withTip(element, text) {
  onPointer(element, (event) => {
    const content = text(event);
    if (content) showTip(content, event.clientX, event.clientY);
    else hideTip();
  }, hideTip);
  return element;
}
