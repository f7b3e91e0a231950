// Questions to the server; answers are remembered while the page is open.

export class Problem extends Error {}

const remembered = new Map();

/** The answer to GET /api/<path>; rejects with a Problem whose message can be shown as it is. */
export function ask(path, parameters = {}) {
  const address = `/api/${path}?${query(parameters)}`;
  if (!remembered.has(address)) {
    const answer = get(address);
    answer.catch(() => remembered.delete(address)); // may be asked again
    remembered.set(address, answer);
    if (remembered.size > 500) remembered.delete(remembered.keys().next().value);
  }
  return remembered.get(address);
}

/** Sends a file to be evaluated; `progress` hears the share done, the result comes at the end. */
export async function evaluate(model, file, kind, progress, signal) {
  const address = `/api/evaluation?${query({ model, kind, name: file.name.slice(0, 200) })}`;
  const options = { method: "POST", body: file, headers: { "Content-Type": "text/plain" }, signal };
  const response = await reach(address, options);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let last = null;
  for (let rest = "", part; !(part = await reader.read()).done; ) {
    const lines = (rest + part.value).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      last = JSON.parse(line);
      if ("progress" in last) progress(last.progress);
    }
  }
  if (last?.error) throw new Problem(last.error);
  if (!last?.result) throw new Problem("The evaluation ended without a result; try again.");
  return last;
}

/** Parameters as they stand in an address: lists repeat their name, what is empty is left out. */
export function query(parameters) {
  const pairs = Object.entries(parameters).flatMap(([name, value]) => [value].flat().map((each) => [name, each]));
  return new URLSearchParams(pairs.filter(([, value]) => value !== null && value !== undefined && value !== ""));
}

async function get(address) {
  const told = await (await reach(address)).json();
  if (told.error) throw new Problem(told.error); // a word that the model does not know
  return told;
}

async function reach(address, options) {
  let response;
  try {
    response = await fetch(address, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem("The explorer does not answer. Is posvec explore still running?");
  }
  if (response.ok) return response;
  const told = await response.json().catch(() => ({}));
  throw new Problem(told.error ?? `The explorer answered with status ${response.status}.`);
}
