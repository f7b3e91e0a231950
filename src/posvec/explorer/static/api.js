// Requests to the server; responses are cached while the page is open.

/** An error whose message is written for the user. */
export class Problem extends Error {}

const cache = new Map();
const CACHE_SIZE = 500;

/** The response to GET /api/<path>; rejects with a Problem. */
export function ask(path, parameters = {}) {
  const address = `/api/${path}?${query(parameters)}`;
  if (!cache.has(address)) {
    const answer = get(address);
    answer.catch(() => cache.delete(address)); // errors are not cached
    cache.set(address, answer);
    if (cache.size > CACHE_SIZE) cache.delete(cache.keys().next().value);
  }
  return cache.get(address);
}

/** Sends a file for evaluation and returns the result; calls `progress` with the fraction done. */
export async function evaluate(model, file, kind, progress, signal) {
  const address = `/api/evaluation?${query({ model, kind, name: file.name.slice(0, 200) })}`;
  const options = { method: "POST", body: file, headers: { "Content-Type": "text/plain" }, signal };
  const response = await request(address, options);
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

/** URL parameters: the name of a list is repeated for each value, empty values are omitted. */
export function query(parameters) {
  const pairs = Object.entries(parameters).flatMap(([name, value]) => [value].flat().map((each) => [name, each]));
  return new URLSearchParams(pairs.filter(([, value]) => value !== null && value !== undefined && value !== ""));
}

async function get(address) {
  const answer = await (await request(address)).json();
  if (answer.error) throw new Problem(answer.error); // the model does not know the word
  return answer;
}

async function request(address, options) {
  let response;
  try {
    response = await fetch(address, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem("The explorer does not respond. Is posvec explore still running?");
  }
  if (response.ok) return response;
  const answer = await response.json().catch(() => ({}));
  throw new Problem(answer.error ?? `The explorer responded with status ${response.status}.`);
}
