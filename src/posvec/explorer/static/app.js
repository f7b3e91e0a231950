// The frame of the page: which view, which models; both stand in the address.

import { ask, query } from "./api.js";
import { h } from "./dom.js";
import { problem } from "./parts.js";
import * as gap from "./gap.js";
import * as model from "./model.js";
import * as positions from "./positions.js";
import * as words from "./words.js";

const views = { gap, positions, words, model };
const main = document.querySelector("main");
let opened = [];
let leave = null; // ends what the view that is shown has under way

try {
  opened = await ask("models");
  addEventListener("popstate", show);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show); // drawings have colours of their own
  document.addEventListener("click", follow);
  show();
} catch (error) {
  main.replaceChildren(problem(error));
}

/** Shows the view that the address names. */
function show() {
  const name = location.pathname.slice(1);
  const view = views[name] ?? gap;
  const parameters = new URLSearchParams(location.search);
  const named = opened.filter((each) => parameters.getAll("models").includes(each.name));
  const chosen = named.length ? named : opened;
  frame(name, parameters, chosen);
  leave?.();
  main.replaceChildren(h("h1", {}, view.title), h("p", { class: "lead" }, view.lead));
  document.title = `${view.title} · posvec explorer`;
  leave = view.show(main, chosen, parameters, keep) ?? null;
}

/** Puts parameters of the view into the address, so that it can be shared, without showing the view anew. */
function keep(changed) {
  const parameters = new URLSearchParams(location.search);
  for (const name of Object.keys(changed)) parameters.delete(name);
  for (const [name, value] of query(changed)) parameters.append(name, value);
  history.replaceState(null, "", `${location.pathname}${parameters.size ? `?${parameters}` : ""}`);
}

/** Links within the page change the view without loading the page again. */
function follow(event) {
  const link = event.target.closest("a[href]");
  const plain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
  if (!plain || !link || link.hasAttribute("download")) return;
  const address = new URL(link.getAttribute("href"), location.href); // also of links in drawings
  if (address.origin !== location.origin || !(address.pathname.slice(1) in views)) return;
  event.preventDefault();
  history.pushState(null, "", withModels(address));
  show();
  scrollTo(0, 0);
  main.focus({ preventScroll: true });
}

/** An address with the models that are chosen now, unless it names its own. */
function withModels(address) {
  if (!address.searchParams.has("models")) {
    for (const name of new URLSearchParams(location.search).getAll("models")) address.searchParams.append("models", name);
  }
  return address;
}

function frame(name, parameters, chosen) {
  const links = Object.entries(views).map(([each, { title }]) =>
    h("a", { href: `/${each}`, "aria-current": each === name ? "page" : null }, title));
  document.querySelector("nav").replaceChildren(...links);
  const toggles = opened.map((each) => {
    const on = chosen.includes(each);
    const choose = () => {
      const now = opened.filter((other) => (other === each ? !on : chosen.includes(other)));
      parameters.delete("models");
      if (now.length < opened.length) for (const other of now) parameters.append("models", other.name);
      history.pushState(null, "", `${location.pathname}?${parameters}`);
      show();
      document.querySelector(`.models [data-model="${CSS.escape(each.name)}"]`)?.focus();
    };
    const only = on && chosen.length === 1;
    return h("button", { type: "button", "aria-pressed": on, "aria-disabled": only, "data-model": each.name,
      title: only ? "the only model that is shown" : null, onclick: only ? null : choose }, each.name);
  });
  const chooser = opened.length > 1
    ? h("div", { role: "group", "aria-label": "Models side by side" }, toggles)
    : h("span", {}, opened[0].name);
  document.querySelector(".models").replaceChildren(chooser);
}
