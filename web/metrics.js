// The model and the server, live: /v1/models, /health, /version and /metrics every two seconds while shown.
import { call } from "./api.js";
import { byId, formatBytes, formatTime, h, svg } from "./dom.js";

const kEvery = 2000;
const kPoints = 60;

/** Prometheus' text format: a list of {name, labels, value}. */
export function parseMetrics(text) {
  const samples = [];
  for (const line of text.split("\n")) {
    const found = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line);
    if (found === null) continue;
    const labels = {};
    for (const [, name, value] of (found[2] ?? "").matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) {
      labels[name] = value.replaceAll(/\\(.)/g, (_, letter) => (letter === "n" ? "\n" : letter));
    }
    samples.push({ name: found[1], labels, value: Number(found[3].replace("Inf", "Infinity")) });
  }
  return samples;
}

class Snapshot {
  constructor(text) {
    this.samples = parseMetrics(text);
    this.time = performance.now();
  }

  named(name, labels) {
    return this.samples.filter((sample) => sample.name === name
      && Object.entries(labels).every(([key, value]) => sample.labels[key] === value));
  }

  sum(name, labels = {}) {
    return this.named(name, labels).reduce((total, { value }) => total + value, 0);
  }

  label(name, key) {
    return this.samples.find((sample) => sample.name === name)?.labels[key];
  }

  /** [[upper bound, count up to it], ..] of a histogram. */
  buckets(name, labels) {
    return this.named(`${name}_bucket`, labels)
      .map(({ labels: { le }, value }) => [le === "+Inf" ? Infinity : Number(le), value]);
  }
}

/** The quantile of what a histogram counted between two snapshots, in between bounds by proportion; null: nothing. */
export function quantile(before, after, share) {
  const counts = after.map(([bound, count], i) => [bound, count - (before[i]?.[1] ?? 0)]);
  const all = counts.at(-1)?.[1] ?? 0;
  if (all <= 0) return null;
  const wanted = all * share;
  let low = 0;
  let under = 0;
  for (const [bound, count] of counts) {
    if (count >= wanted) {
      return bound === Infinity ? low : low + (bound - low) * ((wanted - under) / Math.max(1e-9, count - under));
    }
    low = bound;
    under = count;
  }
  return low;
}

const kCharts = [
  { id: "rate", title: "Requests per second", format: (value) => value.toFixed(value < 10 ? 1 : 0) },
  { id: "latency", title: "Latency, median and 95 %", format: (value) => formatTime(value * 1000) },
  { id: "queue", title: "Requests in the queue", format: (value) => value.toFixed(0) },
  { id: "tokens", title: "Tokens per second", format: (value) => Math.round(value).toLocaleString("en") },
];

function path(points, top) {
  let text = "";
  points.forEach((value, i) => {
    if (value === null) return;
    const x = ((kPoints - points.length + i) / (kPoints - 1)) * 240;
    text += `${text === "" ? "M" : "L"}${x.toFixed(1)} ${(58 - (value / top) * 52).toFixed(1)}`;
  });
  return text;
}

function drawChart({ id, title, format }, series) {
  const main = series[0];
  const last = main.findLast((value) => value !== null) ?? null;
  const top = Math.max(...series.flat().filter((value) => value !== null), 1e-9);
  const text = last === null ? "–" : format(last);
  byId(`chart-${id}`).replaceChildren(
    h("div", { class: "chart-head" }, h("h3", {}, title), h("p", { class: "chart-value" }, text)),
    svg("svg", { viewBox: "0 0 240 60", preserveAspectRatio: "none", class: "chart", role: "img", "aria-label": `${title}: ${text}` },
      svg("path", { d: "M0 58H240", class: "chart-base" }),
      ...series.map((points, i) => svg("path", { d: path(points, top), class: i === 0 ? "chart-line" : "chart-line faint" }))),
    h("p", { class: "quiet" }, `two minutes, top ${top > 1e-9 ? format(top) : "0"}`));
}

export class ServerPanel {
  constructor(getModel) {
    this.getModel = getModel;
    this.history = { rate: [], latency: [], p95: [], queue: [], tokens: [] };
    this.last = null;
    this.timer = 0;
  }

  show(visible) {
    clearTimeout(this.timer);
    this.timer = 0;
    if (visible) this.tick();
  }

  async tick() {
    await this.update();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.tick(), kEvery);
  }

  async update() {
    let snapshot = null;
    try {
      const response = await call("metrics");
      if (response.ok) snapshot = new Snapshot(await response.text());
    } catch {
      snapshot = null;
    }
    byId("server-lost").hidden = snapshot !== null;
    if (snapshot === null) {
      this.last = null;
      for (const points of Object.values(this.history)) this.push(points, null);
    } else this.measure(snapshot);
    const { rate, latency, p95, queue, tokens } = this.history;
    const series = { rate: [rate], latency: [latency, p95], queue: [queue], tokens: [tokens] };
    for (const chart of kCharts) drawChart(chart, series[chart.id]);
    if (snapshot !== null) this.facts(snapshot);
  }

  push(points, value) {
    points.push(value);
    if (points.length > kPoints) points.shift();
  }

  measure(snapshot) {
    const { history, last } = this;
    this.push(history.queue, snapshot.sum("d3_queue_requests"));
    this.last = snapshot;
    if (last === null) return;
    const seconds = (snapshot.time - last.time) / 1000;
    // A server that was started anew counts from zero.
    const since = (name, labels) => Math.max(0, snapshot.sum(name, labels) - last.sum(name, labels)) / seconds;
    const asks = { asks: "true" };
    const name = "d3_http_request_seconds";
    this.push(history.rate, since(`${name}_count`, asks));
    this.push(history.tokens, since("d3_input_tokens_total"));
    this.push(history.latency, quantile(last.buckets(name, asks), snapshot.buckets(name, asks), 0.5));
    this.push(history.p95, quantile(last.buckets(name, asks), snapshot.buckets(name, asks), 0.95));
  }

  facts(snapshot) {
    const model = this.getModel();
    const length = model?.get("max_model_len");
    const rows = [
      ["Model", snapshot.label("d3_model_info", "model") ?? "still loading"],
      ["Description", model?.get("description")],
      ["Numbers", snapshot.label("d3_model_info", "dtype")],
      ["Longest prompt", typeof length === "number" ? `${length.toLocaleString("en")} tokens` : undefined],
      ["Server", `d3 ${snapshot.label("d3_build_info", "version") ?? ""}`],
      ["Questions answered", snapshot.sum("d3_questions_total").toLocaleString("en")],
      ["Tokens read", snapshot.sum("d3_input_tokens_total").toLocaleString("en")],
      ["Connections", String(snapshot.sum("d3_http_connections"))],
      ["Memory", formatBytes(snapshot.sum("process_resident_memory_bytes"))],
    ];
    byId("server-facts").replaceChildren(...rows.filter(([, value]) => value)
      .map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
  }
}
