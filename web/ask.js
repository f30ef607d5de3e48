// The panel Ask: the form and the request's JSON in step, checks, asking, and errors at their fields.
import { ApiError, ask } from "./api.js";
import { renderAnswers } from "./answer.js";
import { announce, byId, debounce, h, segmented } from "./dom.js";
import { kExamples } from "./examples.js";
import { JsonError, parse, place, write } from "./json.js";
import { isMediaFile, readMedia, renderMedia, takeDrops } from "./media.js";
import { QuestionBuilder } from "./questions.js";
import { FormError, newDraft, newQuestion, splitPath, toDraft, toRequest } from "./request.js";

const kLongText = 200_000;

/** Marks for local files in the request's text: {url: "⟦name⟧"}. */
function fileMarks(draft) {
  const marks = new Map();
  for (const { url, name, kind } of draft.media) {
    if (!url.startsWith("data:") || marks.has(url)) continue;
    const used = [...marks.values()];
    let mark = `⟦${name || kind}⟧`;
    for (let i = 2; used.includes(mark); ++i) mark = `⟦${name || kind} ${i}⟧`;
    marks.set(url, mark);
  }
  return marks;
}

function replaceUrls(request, replace) {
  if (!(request instanceof Map)) return request;
  const copy = new Map(request);
  for (const name of ["images", "videos"]) {
    if (Array.isArray(copy.get(name))) copy.set(name, copy.get(name).map((url) => replace(url) ?? url));
  }
  return copy;
}

export class AskPanel {
  /** `onchange` after edits; `onkey` when the server wants a key; `onanswer` after an answer. */
  constructor({ onchange, onkey, onanswer }) {
    Object.assign(this, { notify: onchange, onkey, onanswer });
    this.draft = newDraft({ questions: [newQuestion({ id: "question-1" })] });
    this.mode = "form";
    this.last = new Map();
    this.rawRequest = null;
    this.builder = new QuestionBuilder(byId("questions"), () => this.changed());
    this.sync = debounce(() => this.syncNow(), 150);
    this.syncLong = debounce(() => this.syncNow(), 500);
    this.readRawSoon = debounce(() => this.readRaw(), 200);
    this.addControls();
    this.addEvents();
    this.showDraft();
  }

  addControls() {
    this.viewSwitch = segmented("View of the request", [["form", "Form"], ["raw", "JSON"]], "form", (mode) => this.setMode(mode));
    byId("view-switch").append(this.viewSwitch);
    this.kindSwitch = segmented("The state is", [["text", "Text"], ["json", "JSON"]], "text", (kind) => {
      this.draft.stateKind = kind;
      this.changed();
    });
    byId("state-kind").append(this.kindSwitch);
    byId("examples").append(h("span", { class: "quiet" }, "Start from"), ...kExamples.map((example) => h("button", {
      type: "button", class: "chip", onclick: () => this.useExample(example),
    }, example.name)));
  }

  addEvents() {
    byId("state").addEventListener("input", () => {
      this.draft.state = byId("state").value;
      this.changed();
    });
    byId("raw-text").addEventListener("input", () => this.readRawSoon());
    byId("add-question").addEventListener("click", () => this.builder.add());
    byId("ask").addEventListener("click", () => this.ask());
    byId("cancel").addEventListener("click", () => this.stop?.abort());
    byId("clear").addEventListener("click", () => this.use(newDraft({ questions: [newQuestion({ id: "question-1" })] }), "state"));
    byId("pick-media").addEventListener("click", () => byId("media-file").click());
    byId("media-file").addEventListener("change", async (event) => {
      await this.addFiles([...event.target.files]);
      event.target.value = "";
    });
    takeDrops(byId("ask-panel"), (files) => this.addFiles(files));
    byId("ask-panel").addEventListener("paste", (event) => {
      const files = [...event.clipboardData.files].filter(isMediaFile);
      if (files.length === 0) return;
      event.preventDefault();
      this.addFiles(files);
    });
    byId("ask-panel").addEventListener("input", (event) => this.clearErrorOf(event.target));
    document.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || byId("view-ask").hidden || byId("key-dialog").open) return;
      event.preventDefault();
      this.ask();
    });
  }

  useExample(example) {
    const draft = toDraft(parse(example.request));
    if (example.media) draft.media.push(example.media());
    this.use(draft);
    announce(`Example ${example.name}`);
  }

  /** Starts from another draft: nothing is compared with answers to the one before. */
  use(draft, focus) {
    this.draft = draft;
    this.last = new Map();
    this.clearErrors();
    this.showDraft();
    if (focus) byId(focus).focus();
  }

  showDraft() {
    byId("state").value = this.draft.state;
    this.kindSwitch.show(this.draft.stateKind);
    this.builder.show(this.draft);
    if (this.mode === "raw") this.writeRaw();
    this.syncNow();
  }

  async addFiles(files) {
    const texts = files.filter((file) => !isMediaFile(file) && /\.(txt|md|json)$/i.test(file.name));
    if (texts.length > 0) {
      this.draft.state = await texts[0].text();
      this.draft.stateKind = /\.json$/i.test(texts[0].name) ? "json" : "text";
    }
    this.draft.media.push(...await readMedia(files.filter((file) => !texts.includes(file))));
    this.clearErrorOf(byId("pick-media"));
    this.showDraft();
  }

  changed() {
    (this.draft.state.length > kLongText ? this.syncLong : this.sync)();
  }

  syncNow() {
    renderMedia(this.draft, () => this.showDraft());
    this.checkState();
    const { questions } = this.draft;
    byId("question-count").textContent = questions.length > 1 ? `${questions.length} of at most 64` : "";
    byId("add-question").disabled = questions.length >= 64;
    this.notify();
  }

  checkState() {
    const check = byId("state-check");
    const { state, stateKind } = this.draft;
    check.classList.remove("bad");
    byId("state").removeAttribute("aria-invalid");
    if (stateKind === "text" || state === "") {
      check.textContent = state.length > 10_000 ? `${state.length.toLocaleString("en")} characters` : "";
      return;
    }
    this.showCheck(check, byId("state"), () => {
      parse(state);
      return "Valid JSON";
    });
  }

  /** Shows what `test` returns, or the place of the JsonError it throws with a button that goes there. */
  showCheck(check, area, test) {
    try {
      check.replaceChildren(test());
    } catch (error) {
      if (!(error instanceof JsonError)) throw error;
      const { line, column } = place(area.value, error.offset);
      check.classList.add("bad");
      area.setAttribute("aria-invalid", "true");
      check.replaceChildren(`Line ${line}, column ${column}: ${error.message}. `, h("button", {
        type: "button", class: "text-button",
        onclick: () => {
          area.focus();
          area.setSelectionRange(error.offset, Math.min(area.value.length, error.offset + 1));
        },
      }, "Go there"));
    }
  }

  setMode(mode) {
    if (mode !== this.mode) this.readRaw();  // what was typed a moment ago counts
    this.mode = mode;
    byId("form").hidden = mode !== "form";
    byId("raw").hidden = mode !== "raw";
    this.clearErrors();
    if (mode === "raw") {
      this.writeRaw();
      return;
    }
    if (this.rawRequest === null) announce("The form shows the last request that it could read");
    this.rawRequest = null;
    this.showDraft();
  }

  writeRaw() {
    const marks = fileMarks(this.draft);
    const { request } = toRequest(this.draft);
    byId("raw-text").value = write(replaceUrls(request, (url) => marks.get(url)), 2);
    this.readRaw();
  }

  /** The request's text was edited: the form follows. */
  readRaw() {
    if (this.mode !== "raw") return;
    const check = byId("raw-check");
    const area = byId("raw-text");
    check.classList.remove("bad");
    area.removeAttribute("aria-invalid");
    this.rawRequest = null;
    this.showCheck(check, area, () => {
      const urls = new Map([...fileMarks(this.draft)].map(([url, mark]) => [mark, url]));
      const request = replaceUrls(parse(area.value), (mark) => urls.get(mark));
      this.rawRequest = request;
      try {
        this.draft = toDraft(request, this.draft.media);
      } catch (error) {
        if (!(error instanceof FormError)) throw error;
        return `Valid JSON. The form cannot show it (${error.message}); it is sent as it stands.`;
      }
      byId("state").value = this.draft.state;
      this.kindSwitch.show(this.draft.stateKind);
      this.builder.show(this.draft);
      return "Valid JSON";
    });
    this.syncNow();
  }

  /** {request, problems} as it would be sent now. */
  current() {
    if (this.mode === "form") return toRequest(this.draft);
    if (this.rawRequest !== null) return { request: this.rawRequest, problems: [] };
    return { request: toRequest(this.draft).request, problems: [{ path: null, message: "This is not valid JSON yet." }] };
  }

  /** The questions and media for a batch. */
  withoutState() {
    return toRequest(this.draft, false);
  }

  async ask() {
    if (this.stop) return;
    if (this.mode === "raw") this.readRaw();
    this.clearErrors();
    const { request, problems } = this.current();
    if (problems.length > 0) {
      for (const { path, message } of problems.toReversed()) this.showError(path, message);
      return;
    }
    this.stop = new AbortController();
    this.setBusy(true);
    try {
      const result = await ask(write(request), this.stop.signal);
      const differing = [...result.answer.get("answers").keys()].some((id) => this.last.has(id)) ? this.last : new Map();
      this.last = renderAnswers(result, request, differing);
      byId("answer-note").textContent = differing.size > 0 ? "compared with the answer before" : "";
      announce(`Answered in ${Math.round(result.taken)} ms`);
      this.onanswer(result, this.last);
    } catch (error) {
      if (error instanceof ApiError) this.showApiError(error);
      else if (error.name !== "AbortError") throw error;
    } finally {
      this.stop = null;
      this.setBusy(false);
    }
  }

  setBusy(busy) {
    byId("ask").disabled = busy;
    byId("cancel").hidden = !busy;
    byId("answers").setAttribute("aria-busy", String(busy));
    if (!busy && document.activeElement === document.body) byId("ask").focus({ preventScroll: true });
  }

  showApiError(error) {
    let message = error.message;
    if (error.param !== null && message.startsWith(`${error.param}: `)) message = message.slice(error.param.length + 2);
    if (error.retryAfter > 0) message += ` (try again in ${error.retryAfter} s)`;
    this.showError(error.param, message);
    if (error.status === 401) this.onkey();
  }

  /** The ids of the place for a message about a path, and of the field it is about. */
  placesOf(path) {
    if (path === null || this.mode === "raw") return ["general-error", null];
    if (path === "state") return ["state-error", "state"];
    if (/^(images|videos)(\[\d+\])?$/.test(path)) return ["media-error", "pick-media"];
    if (path === "questions") return ["questions-error", "add-question"];
    const ids = this.draft.questions.map(({ id }) => id);
    const found = path.startsWith("questions.") ? splitPath(path, ids) : null;
    if (found === null) return ["general-error", null];
    // Of two questions with one name the last is the one that is one too many.
    const prefix = `q${this.draft.questions.findLast(({ id }) => id === found.id).key}`;
    if (found.rest.startsWith("instructions")) return [`${prefix}-instructions-error`, `${prefix}-instructions`];
    if (found.rest.startsWith("criteria")) {
      const row = byId(`${prefix}-row0`) ? `${prefix}-row0` : `${prefix}-yes`;
      return [`${prefix}-criteria-error`, byId(row) ? row : `${prefix}-add`];
    }
    return [`${prefix}-error`, `${prefix}-id`];
  }

  showError(path, message) {
    const [placeId, fieldId] = this.placesOf(path);
    const element = byId(placeId);
    const text = placeId === "general-error" && path !== null ? `${path}: ${message}` : message;
    element.textContent = element.hidden ? text : `${element.textContent} ${text}`;
    element.hidden = false;
    const input = fieldId === null ? null : byId(fieldId);
    input?.setAttribute("aria-invalid", "true");
    input?.setAttribute("aria-describedby", `${input.dataset.describedby ??= input.getAttribute("aria-describedby") ?? ""} ${placeId}`.trim());
    for (const item of document.querySelectorAll(".media-item")) {
      item.classList.toggle("bad", item.dataset.path === path);
    }
    if (input) input.focus({ preventScroll: true });
    element.scrollIntoView({ block: "center" });
    if (placeId !== "general-error") announce(text);
  }

  clearErrors() {
    for (const element of document.querySelectorAll("#ask-panel .error")) {
      element.hidden = true;
      element.textContent = "";
    }
    for (const element of document.querySelectorAll("#ask-panel [aria-invalid]")) element.removeAttribute("aria-invalid");
    for (const element of document.querySelectorAll(".media-item.bad")) element.classList.remove("bad");
    this.checkState();
  }

  clearErrorOf(target) {
    const group = target.closest(".question, .group, #raw");
    if (group === null) return;
    for (const element of group.querySelectorAll(".error")) element.hidden = true;
    for (const element of group.querySelectorAll("[aria-invalid]")) element.removeAttribute("aria-invalid");
    byId("general-error").hidden = true;
  }
}
