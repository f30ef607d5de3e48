// A draft is what the form holds; a request is the JSON value that is sent. Both ways, nothing lost.
import { JsonError, parse, write } from "./json.js";

/** A text field that may hold JSON instead: {text, json}. */
export function field(text = "", json = false) {
  return { text, json };
}

let lastKey = 0;

export function newQuestion(values = {}) {
  return {
    key: ++lastKey,
    id: "",
    type: "choice",
    instructions: field(),
    options: [{ name: "", description: field() }, { name: "", description: field() }],
    yes: field(),
    no: field(),
    levels: [field(), field()],
    ...values,
  };
}

export function newDraft(values = {}) {
  return { stateKind: "text", state: "", media: [], questions: [], extra: new Map(), ...values };
}

/** A copy for Duplicate, with a name that is free. */
export function duplicateQuestion(question, questions) {
  const copy = structuredClone(question);
  copy.key = ++lastKey;
  const stem = question.id.replace(/-\d+$/, "") || "question";
  for (let i = 2; questions.some((other) => other.id === copy.id); ++i) copy.id = `${stem}-${i}`;
  return copy;
}

class Builder {
  problems = [];

  add(path, message) {
    this.problems.push({ path, message });
  }

  value(source, path, empty) {
    if (source.text === "") return empty;
    if (!source.json) return source.text;
    try {
      return parse(source.text);
    } catch (error) {
      if (!(error instanceof JsonError)) throw error;
      this.add(path, `${error.message}.`);
      return source.text;
    }
  }

  choice(question, path) {
    const criteria = new Map();
    for (const option of question.options) {
      if (option.name === "" && option.description.text === "") continue;
      if (criteria.has(option.name)) this.add(`${path}.criteria`, `Two options are named “${option.name}”.`);
      criteria.set(option.name, this.value(option.description, `${path}.criteria`, null));
    }
    return criteria;
  }

  criteria(question, path) {
    if (question.type === "choice") return this.choice(question, path);
    if (question.type === "score") {
      return question.levels.filter((level) => level.text !== "")
        .map((level) => this.value(level, `${path}.criteria`, ""));
    }
    const sides = new Map();
    for (const [name, side] of [["true", question.yes], ["false", question.no]]) {
      if (side.text !== "") sides.set(name, this.value(side, `${path}.criteria`, null));
    }
    return sides.size > 0 ? sides : undefined;
  }

  question(question, path) {
    const result = new Map([["type", question.type]]);
    if (question.instructions.text !== "") {
      result.set("instructions", this.value(question.instructions, `${path}.instructions`, null));
    }
    const criteria = this.criteria(question, path);
    if (criteria !== undefined) result.set("criteria", criteria);
    return result;
  }

  questions(draft) {
    const result = new Map();
    for (const question of draft.questions) {
      const path = `questions.${question.id}`;
      if (question.id === "") this.add(path, "Name this question: the answer comes back under its name.");
      else if (result.has(question.id)) this.add(path, `Two questions are named “${question.id}”.`);
      result.set(question.id, this.question(question, path));
    }
    return result;
  }
}

/** {request, problems: [{path, message}]}. The state is left out where `withState` is false. */
export function toRequest(draft, withState = true) {
  const builder = new Builder();
  const request = new Map(draft.extra);
  if (withState) request.set("state", builder.value({ text: draft.state, json: draft.stateKind === "json" }, "state", ""));
  request.set("questions", builder.questions(draft));
  for (const kind of ["image", "video"]) {
    const urls = draft.media.filter((item) => item.kind === kind).map((item) => item.url);
    if (urls.length > 0) request.set(`${kind}s`, urls);
  }
  return { request, problems: builder.problems };
}

/** The form cannot show this request. */
export class FormError extends Error {}

function fieldOf(value) {
  if (value === null || value === undefined) return field();
  return typeof value === "string" ? field(value) : field(write(value), true);
}

function need(condition, path, message) {
  if (!condition) throw new FormError(`${path}: ${message}`);
}

function choiceOf(criteria, path) {
  need(criteria instanceof Map, path, "a choice has an object of options");
  return [...criteria].map(([name, description]) => ({ name, description: fieldOf(description) }));
}

function scoreOf(criteria, path) {
  need(Array.isArray(criteria), path, "a score has a list of levels");
  return criteria.map(fieldOf);
}

function sidesOf(criteria, path) {
  if (criteria === null || criteria === undefined) return {};
  need(criteria instanceof Map, path, "a yes or no question has an object of true and false");
  for (const side of criteria.keys()) need(side === "true" || side === "false", path, "only true and false have a place");
  return { yes: fieldOf(criteria.get("true")), no: fieldOf(criteria.get("false")) };
}

function questionOf(id, value) {
  const path = `questions.${id}`;
  need(value instanceof Map, path, "a question is an object");
  for (const name of value.keys()) {
    need(["type", "instructions", "criteria"].includes(name), `${path}.${name}`, "there is no such field");
  }
  const type = value.get("type");
  const criteria = value.get("criteria");
  const question = newQuestion({ id, type, instructions: fieldOf(value.get("instructions")) });
  const where = `${path}.criteria`;
  if (type === "choice") return { ...question, options: choiceOf(criteria, where) };
  if (type === "score") return { ...question, levels: scoreOf(criteria, where) };
  need(type === "noul", `${path}.type`, "a type is choice, noul or score");
  return { ...question, ...sidesOf(criteria, where) };
}

function mediaOf(list, kind, known) {
  if (list === null || list === undefined) return [];
  need(Array.isArray(list) && list.every((url) => typeof url === "string"), `${kind}s`, "a list of URLs is wanted");
  return list.map((url) => known.find((item) => item.url === url && item.kind === kind) ?? { kind, url, name: "" });
}

/** The draft that shows a request; throws FormError. `known` media keep their names. */
export function toDraft(request, known = []) {
  need(request instanceof Map, "the request", "it is a JSON object");
  const state = request.has("state") ? request.get("state") : "";
  const questions = request.get("questions") ?? new Map();
  need(questions instanceof Map, "questions", "an object of questions is wanted");
  const extra = new Map(request);
  for (const name of ["state", "questions", "images", "videos"]) extra.delete(name);
  return newDraft({
    stateKind: typeof state === "string" ? "text" : "json",
    state: typeof state === "string" ? state : write(state, 2),
    media: [...mediaOf(request.get("images"), "image", known), ...mediaOf(request.get("videos"), "video", known)],
    questions: [...questions].map(([id, value]) => questionOf(id, value)),
    extra,
  });
}

/** The id of the question that a path names, and the rest of the path; of several ids the longest counts. */
export function splitPath(path, ids) {
  const inner = path.slice("questions.".length);
  const id = ids.filter((name) => inner === name || inner.startsWith(`${name}.`))
    .sort((a, b) => b.length - a.length)[0];
  return id === undefined ? null : { id, rest: inner.slice(id.length + 1) };
}
