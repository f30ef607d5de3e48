// The form's questions asked of every state of a file.
import { ApiError, ask } from "./api.js";
import { readAnswer } from "./answer.js";
import { parseCsv, writeCsv } from "./csv.js";
import { announce, byId, download, h, percent } from "./dom.js";
import { JsonError, parse, write } from "./json.js";
import { takeDrops } from "./media.js";

const kPage = 100;
const kMaxRetries = 8;

/** The states of a JSON Lines text: `state` of an object that has one, else the line's value. */
function statesOfLines(text) {
  const states = [];
  text.split(/\r?\n/).forEach((line, index) => {
    if (line.trim() === "") return;
    try {
      const value = parse(line);
      states.push(value instanceof Map && value.has("state") ? value.get("state") : value);
    } catch (error) {
      if (!(error instanceof JsonError)) throw error;
      throw new Error(`Line ${index + 1}: ${error.message}, column ${error.offset + 1}`);
    }
  });
  return states;
}

function wait(seconds, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, seconds * 1000);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}

/** Asks again where the server is full, loading, or away for a moment. */
async function askPatiently(body, signal) {
  for (let tries = 0; ; ++tries) {
    try {
      return await ask(body, signal);
    } catch (error) {
      const passing = error instanceof ApiError && [0, 429, 503].includes(error.status);
      if (!passing || tries === kMaxRetries || signal.aborted) throw error;
      await wait(Math.max(error.retryAfter, Math.min(8, 0.5 * 2 ** tries)), signal);
    }
  }
}

export class Batch {
  /** `getRequest` gives {request, problems} of the form's questions, without a state. */
  constructor(getRequest) {
    this.getRequest = getRequest;
    this.rows = [];
    this.table = null;
    this.page = 0;
    byId("batch-pick").addEventListener("click", () => byId("batch-file").click());
    byId("batch-file").addEventListener("change", (event) => this.load(event.target.files[0]));
    byId("batch-column").addEventListener("change", () => this.useColumn());
    byId("batch-run").addEventListener("click", () => (this.stop ? this.stop.abort() : this.run()));
    for (const id of ["batch-search", "batch-question", "batch-decision", "batch-below"]) {
      byId(id).addEventListener("input", () => {
        if (id === "batch-question") this.fillDecisions();
        this.page = 0;
        this.draw();
      });
    }
    byId("batch-csv").addEventListener("click", () => this.saveCsv());
    byId("batch-jsonl").addEventListener("click", () => this.saveLines());
    takeDrops(byId("batch-drop"), (files) => this.load(files[0]));
    byId("batch-drop").addEventListener("paste", (event) => {
      event.preventDefault();
      this.loadText("pasted text", event.clipboardData.getData("text"));
    });
  }

  async load(file) {
    if (!file) return;
    byId("batch-file").value = "";
    try {
      this.loadText(file.name, await file.text());
    } catch {
      this.fail(`${file.name} cannot be read`);
    }
  }

  fail(message) {
    const error = byId("batch-error");
    error.textContent = message;
    error.hidden = message === "";
  }

  loadText(name, text) {
    this.stop?.abort();
    this.fail("");
    try {
      const lines = /\.(jsonl|ndjson)$/i.test(name) || (!/\.(csv|tsv)$/i.test(name) && /^\s*[{["]/.test(text));
      this.table = lines ? null : parseCsv(text);
      if (lines) this.setStates(statesOfLines(text));
      else if (this.table.length < 2) throw new Error("A CSV file has a row of names and at least one row of values");
    } catch (error) {
      return this.fail(`${name}: ${error.message}`);
    }
    this.name = name;
    this.showColumns();
    if (this.table) this.useColumn();
    announce(`${this.rows.length} states from ${name}`);
  }

  showColumns() {
    const select = byId("batch-column");
    byId("batch-column-field").hidden = this.table === null;
    if (this.table === null) return;
    const names = this.table[0];
    select.replaceChildren(...names.map((name, i) => h("option", { value: i }, name || `column ${i + 1}`)),
      h("option", { value: -1 }, "the whole row, as JSON"));
    const usual = names.findIndex((name) => /^(state|text|message|body|content|input)$/i.test(name.trim()));
    select.value = String(usual >= 0 ? usual : names.length > 1 ? -1 : 0);
  }

  useColumn() {
    this.stop?.abort();
    const column = Number(byId("batch-column").value);
    const [names, ...rows] = this.table;
    this.setStates(rows.map((row) => (column >= 0 ? row[column] ?? ""
      : new Map(names.map((name, i) => [name || `column ${i + 1}`, row[i] ?? ""])))));
  }

  setStates(states) {
    this.rows = states.map((state, index) => ({
      index, state, text: typeof state === "string" ? state : write(state), answers: null, error: null,
    }));
    this.page = 0;
    this.ids = [];
    byId("batch-results").hidden = this.rows.length === 0;
    byId("batch-run").disabled = this.rows.length === 0;
    this.fillFilters();
    this.draw();
  }

  async run() {
    const { request, problems } = this.getRequest();
    if (problems.length > 0) return this.fail(`The questions are not ready. ${problems[0].message}`);
    if (request.get("questions").size === 0) return this.fail("There is no question yet: add one under Ask.");
    this.fail("");
    const stop = new AbortController();
    this.stop = stop;
    this.ids = [...request.get("questions").keys()];
    const again = this.asked === write(request) && this.rows.some(({ answers }) => answers === null);
    this.asked = write(request);
    if (!again) for (const row of this.rows) Object.assign(row, { answers: null, error: null });
    this.fillFilters();
    byId("batch-run").textContent = "Stop";
    const waiting = this.rows.filter(({ answers }) => answers === null);
    const worker = async () => {
      while (waiting.length > 0 && !stop.signal.aborted) await this.askRow(waiting.shift(), request, stop.signal);
    };
    const redraw = setInterval(() => this.draw(), 250);
    const workers = Math.min(32, Math.max(1, Number(byId("batch-workers").value) || 1));
    await Promise.all(Array.from({ length: workers }, worker));
    clearInterval(redraw);
    if (this.stop !== stop) return;
    this.stop = null;
    const left = this.rows.filter(({ answers, error }) => answers === null && error === null).length;
    byId("batch-run").textContent = left > 0 ? "Go on" : "Ask again";
    this.fillDecisions();
    this.draw();
    announce(left > 0 ? "Stopped" : "Every state is answered");
  }

  async askRow(row, request, signal) {
    row.error = null;
    try {
      const result = await askPatiently(write(new Map([["state", row.state], ...request])), signal);
      row.raw = result.text;
      row.answers = new Map([...result.answer.get("answers")].map(([id, answer]) => [id, readAnswer(answer)]));
    } catch (error) {
      if (error.name !== "AbortError" && !signal.aborted) row.error = error.message;
    }
  }

  fillFilters() {
    const select = byId("batch-question");
    select.replaceChildren(...(this.ids ?? []).map((id) => h("option", { value: id }, id)));
    this.fillDecisions();
  }

  fillDecisions() {
    const id = byId("batch-question").value;
    const chosen = byId("batch-decision").value;
    const names = [...new Set(this.rows.map(({ answers }) => answers?.get(id)?.decision).filter((name) => name !== undefined))];
    byId("batch-decision").replaceChildren(h("option", { value: "" }, "all"),
      ...names.map((name) => h("option", { value: `=${name}` }, name)), h("option", { value: "!" }, "errors"));
    byId("batch-decision").value = [...byId("batch-decision").options].some(({ value }) => value === chosen) ? chosen : "";
  }

  filtered() {
    const words = byId("batch-search").value.toLowerCase();
    const id = byId("batch-question").value;
    const decision = byId("batch-decision").value;
    const below = Number(byId("batch-below").value);
    return this.rows.filter(({ text, answers, error }) => {
      if (words !== "" && !text.toLowerCase().includes(words)) return false;
      if (decision === "!") return error !== null;
      const answer = answers?.get(id);
      if (decision !== "" && (answer === undefined || `=${answer.decision}` !== decision)) return false;
      return below >= 100 || (answer !== undefined && answer.confidence * 100 <= below);
    });
  }

  draw() {
    const done = this.rows.filter(({ answers, error }) => answers !== null || error !== null).length;
    const failed = this.rows.filter(({ error }) => error !== null).length;
    byId("batch-progress").max = Math.max(1, this.rows.length);
    byId("batch-progress").value = done;
    byId("batch-count").textContent = `${done.toLocaleString("en")} of ${this.rows.length.toLocaleString("en")} answered`
      + (failed > 0 ? `, ${failed} with an error` : "");
    byId("batch-below-text").textContent = Number(byId("batch-below").value) >= 100 ? "any" : `at most ${byId("batch-below").value} %`;
    for (const id of ["batch-csv", "batch-jsonl"]) byId(id).disabled = done === 0;
    this.drawTable();
    this.drawChart();
  }

  drawTable() {
    const rows = this.filtered();
    const ids = this.ids ?? [];
    this.page = Math.min(this.page, Math.max(0, Math.ceil(rows.length / kPage) - 1));
    const shown = rows.slice(this.page * kPage, (this.page + 1) * kPage);
    byId("batch-table").replaceChildren(
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "#"), h("th", { scope: "col" }, "State"),
        ...ids.map((id) => h("th", { scope: "col" }, id)))),
      h("tbody", {}, ...shown.map(({ index, text, answers, error }) => h("tr", {},
        h("td", { class: "quiet" }, String(index + 1)),
        h("td", { class: "batch-state", title: text.slice(0, 2000) }, text.slice(0, 300)),
        ...(error !== null ? [h("td", { class: "error", colspan: Math.max(1, ids.length) }, error)]
          : ids.map((id) => this.cell(answers?.get(id))))))));
    const pages = Math.ceil(rows.length / kPage);
    const turn = (by, text) => h("button", {
      type: "button", class: "text-button", disabled: this.page + by < 0 || this.page + by >= pages,
      onclick: () => {
        this.page += by;
        this.drawTable();
      },
    }, text);
    byId("batch-pages").replaceChildren(h("span", { class: "quiet" }, `${rows.length.toLocaleString("en")} rows`),
      ...(pages > 1 ? [turn(-1, "Previous"), h("span", { class: "quiet" }, `page ${this.page + 1} of ${pages}`), turn(1, "Next")] : []));
  }

  cell(answer) {
    if (answer === undefined) return h("td", { class: "quiet" }, "·");
    return h("td", {}, answer.type === "score" ? answer.score.toFixed(2) : answer.decision, " ",
      h("span", { class: "quiet" }, percent(answer.confidence)));
  }

  /** How many rows decided for each option, of those that pass the filter. */
  drawChart() {
    const id = byId("batch-question").value;
    const counts = new Map();
    for (const { answers } of this.filtered()) {
      const answer = answers?.get(id);
      if (answer === undefined) continue;
      if (counts.size === 0) for (const { name } of answer.options) counts.set(name, 0);
      counts.set(answer.decision, (counts.get(answer.decision) ?? 0) + 1);
    }
    const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
    const most = Math.max(1, ...counts.values());
    const bars = [...counts].filter(([, count]) => counts.size <= 20 || count > 0);
    byId("batch-chart").replaceChildren(...bars.map(([name, count]) => h("li", { class: "bar" },
      h("span", { class: "bar-name", title: name }, name),
      h("span", { class: "bar-value" }, `${count} · ${percent(all > 0 ? count / all : 0)}`),
      h("span", { class: "bar-track", "aria-hidden": "true" },
        h("span", { class: "bar-fill", style: { width: `${(count / most) * 100}%` } })))));
    byId("batch-chart-title").textContent = id === "" ? "Decisions" : `Decisions of ${id}`;
  }

  saveCsv() {
    const ids = this.ids ?? [];
    const head = ["state", ...ids.flatMap((id) => [id, `${id} confidence`]), "error"];
    const rows = this.filtered().map(({ text, answers, error }) => [text, ...ids.flatMap((id) => {
      const answer = answers?.get(id);
      if (answer === undefined) return ["", ""];
      return [answer.type === "score" ? answer.score : answer.decision, answer.confidence];
    }), error ?? ""]);
    download("answers.csv", "text/csv", writeCsv([head, ...rows]));
  }

  saveLines() {
    const lines = this.filtered().map(({ state, raw, error }) => {
      const answer = raw === undefined ? null : parse(raw);
      return write(new Map([["state", state], ["answers", answer?.get("answers") ?? null], ...(error ? [["error", error]] : [])]));
    });
    download("answers.jsonl", "application/jsonl", `${lines.join("\n")}\n`);
  }
}
