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

/** Shows what `text(event)` says while the pointer is over an element. */
export function tipped(element, text) {
  element.addEventListener("pointermove", (event) => {
    const said = text(event);
    if (said) showTip(said, event.clientX, event.clientY);
    else hideTip();
  });
  element.addEventListener("pointerleave", hideTip);
  return element;
}
