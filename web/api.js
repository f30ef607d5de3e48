// Calls to the server the page came from. The key lives in session storage alone.
import { parse } from "./json.js";

const kKey = "d3.key";

export function key() {
  return sessionStorage.getItem(kKey) ?? "";
}

export function setKey(value) {
  if (value === "") sessionStorage.removeItem(kKey);
  else sessionStorage.setItem(kKey, value);
}

/** The server's address without a slash at the end: where the page lies. */
export function baseUrl() {
  return new URL(".", document.baseURI.replace(/[?#].*$/, "")).href.replace(/\/$/, "");
}

export function call(path, options = {}) {
  const headers = { ...options.headers };
  if (key() !== "") headers.authorization = `Bearer ${key()}`;
  return fetch(`${baseUrl()}/${path}`, { ...options, headers, cache: "no-store", referrerPolicy: "no-referrer" });
}

export class ApiError extends Error {
  constructor(message, status, param, retryAfter) {
    super(message);
    this.status = status;
    this.param = param;
    this.retryAfter = retryAfter;
  }
}

function errorOf(status, text, headers) {
  let error;
  try {
    error = parse(text).get("error");
  } catch {
    error = undefined;
  }
  const message = error?.get("message") ?? `The server answered ${status} with something that is not JSON.`;
  return new ApiError(String(message), status, error?.get("param") ?? null, Number(headers.get("retry-after")) || 0);
}

/** Times of `server-timing`: [["parse", 0.1], ..], in milliseconds. */
export function serverTiming(header) {
  return (header ?? "").split(",").map((part) => /^\s*(\w+);dur=([\d.]+)/.exec(part)).filter(Boolean)
    .map(([, name, time]) => [name, Number(time)]);
}

/** Asks; gives {answer, text, timing, taken, requestId}. Throws ApiError; status 0 where no server answers. */
export async function ask(body, signal) {
  const start = performance.now();
  let response;
  let text;
  try {
    response = await call("v1/systemone", {
      method: "POST", body, signal, headers: { "content-type": "application/json" },
    });
    text = await response.text();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError("The server cannot be reached. Is it still running?", 0, null, 0);
  }
  if (!response.ok) throw errorOf(response.status, text, response.headers);
  return {
    answer: parse(text),
    text,
    timing: serverTiming(response.headers.get("server-timing")),
    taken: performance.now() - start,
    requestId: response.headers.get("x-request-id"),
  };
}
