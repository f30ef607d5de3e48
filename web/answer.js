// What came back: a card for every question, and where the tokens and the time went.
import { byId, formatTime, h, percent, segmented } from "./dom.js";
import { RawNumber } from "./json.js";

const kShownAtFirst = 12;
const kSameShare = 0.0005;

/** A number of an answer; tiny ones are written with an exponent and come as RawNumber. */
export function number(value) {
  return value instanceof RawNumber ? Number(value.text) : value;
}

/** One shape for all three types: {type, options: [{name, share}], decision, confidence, score?}. */
export function readAnswer(answer) {
  const type = answer.get("type");
  const shares = [...answer.get("probabilities")].map(([name, share]) => ({ name, share: number(share) }));
  const confidence = number(answer.get("confidence"));
  if (type === "choice") return { type, options: shares, decision: answer.get("choice"), confidence };
  if (type === "noul") {
    const options = shares.map(({ name, share }) => ({ name: name === "yes" ? "Yes" : "No", share }));
    const [yes, no] = options;
    return { type, options, decision: yes.share > no.share ? "Yes" : "No", confidence };
  }
  const legend = answer.get("legend");
  const options = shares.map(({ name, share }) => ({ name: legend.get(name), share, level: Number(name) }));
  const likeliest = options.reduce((best, option) => (option.share > best.share ? option : best));
  return { type, options, decision: likeliest.name, confidence, score: number(answer.get("score")) };
}

function points(change) {
  return `${change > 0 ? "+" : "−"}${Math.abs(change * 100).toFixed(1)}`;
}

function change(now, before) {
  if (before === undefined || Math.abs(now - before) < kSameShare) return null;
  const difference = now - before;
  return h("span", { class: difference > 0 ? "delta up" : "delta down", title: `before: ${percent(before)}` },
    points(difference), h("span", { class: "offscreen" }, " points since the answer before"));
}

function bar(option, decided, before) {
  const old = before?.options.find(({ name }) => name === option.name)?.share;
  return h("li", { class: decided ? "bar decided" : "bar" },
    h("span", { class: "bar-name", title: option.name }, option.level === undefined ? option.name : `${option.level}  ${option.name}`),
    h("span", { class: "bar-value" }, percent(option.share)),
    h("span", { class: "bar-delta" }, change(option.share, old)),
    h("span", { class: "bar-track", "aria-hidden": "true" },
      h("span", { class: "bar-fill", style: { width: `${option.share * 100}%` } }),
      old === undefined ? null : h("span", { class: "bar-before", style: { left: `${old * 100}%` } })));
}

/** The scale of a score: a dot for the mean, a column for the share of every level. */
function scale(answer, before) {
  const top = answer.options.length - 1;
  const at = (score) => `${(score / top) * 100}%`;
  const most = Math.max(...answer.options.map(({ share }) => share));
  return h("div", { class: "scale", "aria-hidden": "true" },
    h("div", { class: "scale-columns" }, ...answer.options.map(({ share }, level) =>
      h("span", { class: "scale-column", style: { left: at(level), height: `${(share / most) * 100}%` } }))),
    h("div", { class: "scale-line" },
      ...answer.options.map((_, level) => h("span", { class: "scale-tick", style: { left: at(level) } }, String(level))),
      before?.score === undefined ? null : h("span", { class: "scale-mark old", style: { left: at(before.score) } }),
      h("span", { class: "scale-mark", style: { left: at(answer.score) } })),
    h("div", { class: "scale-ends" }, h("span", {}, answer.options[0].name), h("span", {}, answer.options[top].name)));
}

function headline(answer, before) {
  const score = answer.type === "score";
  const was = before && before.decision !== answer.decision
    ? h("span", { class: "was" }, `was ${before.decision}`) : null;
  const moved = score && before?.score !== undefined && Math.abs(answer.score - before.score) >= 0.005
    ? h("span", { class: answer.score > before.score ? "delta up" : "delta down" },
      `${answer.score > before.score ? "+" : "−"}${Math.abs(answer.score - before.score).toFixed(2)}`) : null;
  return h("div", { class: "headline" },
    h("p", { class: "decision" }, score ? answer.score.toFixed(2) : answer.decision,
      score ? h("span", { class: "of" }, ` of ${answer.options.length - 1}`) : null),
    moved, was,
    h("p", { class: "confidence" },
      score ? h("span", { class: "confidence-level" }, `likeliest: ${answer.decision}`) : null,
      h("strong", {}, percent(answer.confidence)), " confidence"));
}

/** Bars in order or likeliest first; of many options the likeliest twelve until all are asked for. */
function bars(answer, before, id) {
  const list = h("ol", { class: before ? "bars compared" : "bars", "aria-label": `Options of ${id}` });
  const many = answer.options.length > kShownAtFirst;
  let order = answer.type === "choice" && answer.options.length > 2 ? "likeliest" : "given";
  let all = !many;
  let wanted = "";
  const filter = h("input", {
    type: "search", class: "bar-filter", placeholder: "Find an option", "aria-label": `Find an option of ${id}`,
    oninput: () => {
      wanted = filter.value.toLowerCase();
      draw();
    },
  });
  const more = h("button", {
    type: "button", class: "text-button", "aria-expanded": "false",
    onclick: () => {
      all = !all;
      draw();
    },
  });
  const draw = () => {
    let options = [...answer.options];
    if (order === "likeliest") options.sort((a, b) => b.share - a.share);
    if (wanted !== "") options = options.filter(({ name }) => name.toLowerCase().includes(wanted));
    const shown = all || wanted !== "" ? options : options.slice(0, kShownAtFirst);
    list.replaceChildren(...shown.map((option) => bar(option, option.name === answer.decision, before)));
    const scrolls = shown.length > kShownAtFirst;
    list.classList.toggle("scrolls", scrolls);
    if (scrolls) list.setAttribute("tabindex", "0");
    else list.removeAttribute("tabindex");
    more.textContent = all ? "Show fewer" : `Show all ${answer.options.length}`;
    more.setAttribute("aria-expanded", String(all));
  };
  draw();
  const sort = answer.type === "choice" && answer.options.length > 2
    ? segmented(`Order of the options of ${id}`, [["likeliest", "Likeliest"], ["given", "As given"]], order, (value) => {
      order = value;
      draw();
    }) : null;
  const tools = sort || many ? h("div", { class: "bar-tools" }, sort, many ? filter : null) : null;
  return [tools, list, many ? more : null];
}

function card(id, answer, before, instructions) {
  const kind = { choice: "Choice", noul: "Yes / no", score: "Score" }[answer.type];
  return h("article", { class: "answer", "aria-label": `Answer to ${id}`, "data-answer": id },
    h("header", { class: "answer-head" }, h("h3", { class: "mono" }, id), h("span", { class: "quiet" }, kind)),
    instructions ? h("p", { class: "answer-question" }, instructions) : null,
    headline(answer, before),
    answer.type === "score" ? scale(answer, before) : null,
    ...bars(answer, before, id));
}

const kStageColors = { parse: 1, tokenize: 2, media: 3, queue: 4, forward: 5, network: 6 };

function timing(result) {
  const stages = result.timing.filter(([, time]) => time > 0);
  const known = stages.reduce((sum, [, time]) => sum + time, 0);
  stages.push(["network", Math.max(0, result.taken - known)]);
  const total = stages.reduce((sum, [, time]) => sum + time, 0);
  return h("div", { class: "timing" },
    h("div", { class: "timing-bar", "aria-hidden": "true" }, ...stages.map(([name, time]) =>
      h("span", { class: `stage stage-${kStageColors[name] ?? 6}`, style: { "flex-grow": (time / total).toFixed(4) } }))),
    h("ul", { class: "timing-legend", "aria-label": "Where the time went" }, ...stages.map(([name, time]) =>
      h("li", {}, h("span", { class: `dot stage-${kStageColors[name] ?? 6}`, "aria-hidden": "true" }),
        name === "network" ? "network and browser" : name, " ", h("span", { class: "mono" }, formatTime(time))))));
}

function fact(name, value) {
  return h("div", {}, h("dt", {}, name), h("dd", {}, value));
}

/**
 * Draws `result` of ask() into #answers. `asked` is the request; `before` maps ids to the answers (readAnswer) of the
 * time before. Returns the answers by id.
 */
export function renderAnswers(result, asked, before) {
  const answers = new Map([...result.answer.get("answers")].map(([id, answer]) => [id, readAnswer(answer)]));
  const tokens = number(result.answer.get("usage").get("input_tokens"));
  let differences = 0;
  const cards = [...answers].map(([id, answer]) => {
    const old = before.get(id)?.type === answer.type ? before.get(id) : undefined;
    if (old && old.decision !== answer.decision) ++differences;
    const instructions = asked.get("questions").get(id)?.get("instructions");
    return card(id, answer, old, typeof instructions === "string" ? instructions : "");
  });
  byId("answers").replaceChildren(
    h("dl", { class: "facts" },
      fact("Answered in", formatTime(result.taken)),
      fact("Tokens", tokens.toLocaleString("en")),
      fact(answers.size === 1 ? "Question" : "Questions", String(answers.size)),
      before.size > 0 ? fact("Changed decisions", String(differences)) : null),
    ...cards,
    timing(result),
    h("p", { class: "quiet request-id" }, result.answer.get("model"), " · ", h("span", { class: "mono" }, result.requestId ?? "")));
  return answers;
}
