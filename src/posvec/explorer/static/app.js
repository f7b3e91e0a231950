// The frame of the page: the view and the models, both of which are part of the address.

import { ask, query } from "./api.js";
import { h } from "./dom.js";
import { problem } from "./parts.js";
import * as gap from "./gap.js";
import * as model from "./model.js";
import * as positions from "./positions.js";
import * as words from "./words.js";

const views = { gap, positions, words, model };
const main = document.querySelector("main");
let loaded = []; // summaries of the loaded models
let closeView = null; // stops the running work of the current view

try {
  loaded = await ask("models");
  addEventListener("popstate", show);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show); // drawings contain computed colours
  document.addEventListener("click", follow);
  show();
} catch (error) {
  main.replaceChildren(problem(error));
}

/** Shows the view of the current address. */
function show() {
  const name = location.pathname.slice(1);
  const view = views[name] ?? gap;
  const parameters = new URLSearchParams(location.search);
  const named = loaded.filter((each) => parameters.getAll("models").includes(each.name));
  const selected = named.length ? named : loaded;
  showHeader(name, parameters, selected);
  closeView?.();
  main.replaceChildren(h("h1", {}, view.title), h("p", { class: "lead" }, view.lead));
  document.title = `${view.title} · posvec explorer`;
  closeView = view.show(main, selected, parameters, setParameters) ?? null;
}

/** Writes parameters of the view to the address, so that it can be shared, without showing the view again. */
function setParameters(changed) {
  const parameters = new URLSearchParams(location.search);
  for (const name of Object.keys(changed)) parameters.delete(name);
  for (const [name, value] of query(changed)) parameters.append(name, value);
  history.replaceState(null, "", `${location.pathname}${parameters.size ? `?${parameters}` : ""}`);
}

/** Follows links within the page without loading the page again. */
function follow(event) {
  const link = event.target.closest("a[href]");
  const plain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
  if (!plain || !link || link.hasAttribute("download")) return;
  const address = new URL(link.getAttribute("href"), location.href); // getAttribute: link.href of SVG links is not a string
  if (address.origin !== location.origin || !(address.pathname.slice(1) in views)) return;
  event.preventDefault();
  history.pushState(null, "", withModels(address));
  show();
  scrollTo(0, 0);
  main.focus({ preventScroll: true });
}

/** The address with the selected models, unless it already names models. */
function withModels(address) {
  if (!address.searchParams.has("models")) {
    for (const name of new URLSearchParams(location.search).getAll("models")) address.searchParams.append("models", name);
  }
  return address;
}

/** Shows the links to the views and the buttons of the models. */
function showHeader(name, parameters, selected) {
  const links = Object.entries(views).map(([each, { title }]) =>
    h("a", { href: `/${each}`, "aria-current": each === name ? "page" : null }, title));
  document.querySelector("nav").replaceChildren(...links);
  const toggles = loaded.map((each) => {
    const on = selected.includes(each);
    const toggle = () => {
      const now = loaded.filter((other) => (other === each ? !on : selected.includes(other)));
      parameters.delete("models");
      if (now.length < loaded.length) for (const other of now) parameters.append("models", other.name);
      history.pushState(null, "", `${location.pathname}?${parameters}`);
      show();
      document.querySelector(`.models [data-model="${CSS.escape(each.name)}"]`)?.focus();
    };
    const only = on && selected.length === 1;
    return h("button", { type: "button", "aria-pressed": on, "aria-disabled": only, "data-model": each.name,
      title: only ? "at least one model must be shown" : null, onclick: only ? null : toggle }, each.name);
  });
  const models = loaded.length > 1
    ? h("div", { role: "group", "aria-label": "Models side by side" }, toggles)
    : h("span", {}, loaded[0].name);
  document.querySelector(".models").replaceChildren(models);
}
