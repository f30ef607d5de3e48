// The question builder.
import { announce, byId, h, icon, iconButton, segmented } from "./dom.js";
import { duplicateQuestion, field, newQuestion } from "./request.js";

const kTypes = [["choice", "Choice"], ["noul", "Yes / no"], ["score", "Score"]];
const kHints = {
  choice: "The model picks one of these options. A description tells it when an option fits.",
  noul: "The model gives the probability of yes. Both sides may be described.",
  score: "Levels from low to high. The score is the mean level; the first is 0.",
};

function move(list, from, to) {
  if (to < 0 || to >= list.length) return false;
  list.splice(to, 0, ...list.splice(from, 1));
  return true;
}

/** A text field; where it holds JSON, a button turns it to text. */
function textField(source, attributes, onchange) {
  const name = attributes.rows ? "textarea" : "input";
  const input = h(name, {
    ...attributes, value: source.text, autocomplete: "off",
    oninput: () => {
      source.text = input.value;
      onchange();
    },
  });
  if (!source.json) return input;
  const badge = h("button", {
    type: "button", class: "json-badge", title: "This is JSON. Press to send it as text.",
    onclick: () => {
      source.json = false;
      badge.remove();
      onchange();
      input.focus();
    },
  }, "JSON");
  return h("span", { class: "with-badge" }, input, badge);
}

/** The list of questions of a draft, drawn into `root`; `onchange` is called after every change. */
export class QuestionBuilder {
  constructor(root, onchange) {
    this.root = root;
    this.onchange = onchange;
  }

  show(draft) {
    this.draft = draft;
    this.render();
  }

  render(focus) {
    this.root.replaceChildren(...this.draft.questions.map((question, index) => this.card(question, index)));
    if (focus) byId(focus)?.focus();
  }

  changed(focus) {
    this.render(focus);
    this.onchange();
  }

  add() {
    const { questions } = this.draft;
    const question = newQuestion();
    for (let i = questions.length + 1; question.id === "" || questions.some(({ id }) => id === question.id); ++i) {
      question.id = `question-${i}`;
    }
    questions.push(question);
    this.changed(`q${question.key}-instructions`);
    byId(`q${question.key}`).scrollIntoView({ block: "nearest" });
  }

  card(question, index) {
    const prefix = `q${question.key}`;
    const id = h("input", {
      id: `${prefix}-id`, class: "mono question-id", value: question.id, placeholder: "name", autocomplete: "off", spellcheck: "false",
      "aria-label": "Name of the question", "aria-describedby": `${prefix}-error`,
      oninput: () => {
        question.id = id.value;
        this.onchange();
      },
    });
    return h("li", { class: "question", id: prefix, "data-key": question.key, onkeydown: (event) => this.onKey(event, index) },
      h("div", { class: "question-head" },
        id,
        segmented("Type of the question", kTypes, question.type, (type) => {
          question.type = type;
          this.changed();
          byId(prefix).querySelector(`[data-value="${type}"]`).focus();
        }),
        this.tools(question, index)),
      h("p", { class: "error", id: `${prefix}-error`, hidden: true }),
      h("label", { class: "field-label", for: `${prefix}-instructions` }, "Question"),
      textField(question.instructions, {
        id: `${prefix}-instructions`, rows: 1, placeholder: "What should the model decide?",
        "aria-describedby": `${prefix}-instructions-error`,
      }, this.onchange),
      h("p", { class: "error", id: `${prefix}-instructions-error`, hidden: true }),
      this.criteria(question, prefix),
      h("p", { class: "error", id: `${prefix}-criteria-error`, hidden: true }));
  }

  tools(question, index) {
    const { questions } = this.draft;
    const name = question.id || `question ${index + 1}`;
    const prefix = `q${question.key}`;
    const shift = (by, side) => {
      if (!move(questions, index, index + by)) return;
      this.changed(`${prefix}-${side}`);
      if (document.activeElement?.disabled || document.activeElement === document.body) byId(`${prefix}-id`).focus();
      announce(`${name} is now number ${index + by + 1} of ${questions.length}`);
    };
    return h("div", { class: "question-tools" },
      iconButton("up", `Move ${name} up`, () => shift(-1, "up"), { id: `${prefix}-up`, disabled: index === 0 }),
      iconButton("down", `Move ${name} down`, () => shift(1, "down"), { id: `${prefix}-down`, disabled: index + 1 === questions.length }),
      iconButton("copy", `Duplicate ${name}`, () => {
        const copy = duplicateQuestion(question, questions);
        questions.splice(index + 1, 0, copy);
        this.changed(`q${copy.key}-id`);
      }),
      iconButton("remove", `Remove ${name}`, () => {
        questions.splice(index, 1);
        const next = questions[Math.min(index, questions.length - 1)];
        this.changed(next ? `q${next.key}-id` : "add-question");
        announce(`${name} removed`);
      }));
  }

  onKey(event, index) {
    if (!event.altKey || !["ArrowUp", "ArrowDown"].includes(event.key) || event.target.dataset.row !== undefined) return;
    event.preventDefault();
    const by = event.key === "ArrowUp" ? -1 : 1;
    if (move(this.draft.questions, index, index + by)) this.changed(event.target.id);
  }

  criteria(question, prefix) {
    if (question.type === "noul") {
      return h("div", { class: "sides" },
        h("p", { class: "hint" }, kHints.noul),
        ...[["yes", "Yes means"], ["no", "No means"]].map(([side, label]) => h("div", { class: "side" },
          h("label", { for: `${prefix}-${side}` }, label),
          textField(question[side], { id: `${prefix}-${side}`, placeholder: "optional" }, this.onchange))));
    }
    const choice = question.type === "choice";
    const rows = choice ? question.options : question.levels;
    const limit = choice ? 255 : 10;
    return h("div", { class: "rows" },
      h("p", { class: "hint" }, kHints[question.type]),
      h("ol", { class: choice ? "option-rows" : "option-rows levels", start: "0" },
        ...rows.map((row, at) => this.row(question, rows, row, at))),
      h("button", {
        type: "button", class: "text-button", id: `${prefix}-add`, disabled: rows.length >= limit,
        onclick: () => this.addRow(question, rows, rows.length),
      }, icon("plus"), choice ? "Add option" : "Add level"));
  }

  addRow(question, rows, at) {
    if (rows.length >= (question.type === "choice" ? 255 : 10)) return;
    rows.splice(at, 0, question.type === "choice" ? { name: "", description: field() } : field());
    this.changed(`q${question.key}-row${at}`);
  }

  row(question, rows, row, at) {
    const prefix = `q${question.key}-row${at}`;
    const choice = question.type === "choice";
    const number = at + 1;
    const shared = {
      "data-row": at, autocomplete: "off",
      onkeydown: (event) => this.onRowKey(event, question, rows, at),
      onpaste: (event) => this.onPaste(event, question, rows, at),
    };
    const first = choice
      ? h("input", {
        ...shared, id: prefix, value: row.name, placeholder: `option ${number}`, class: "option-name",
        "aria-label": `Name of option ${number}`,
        oninput: (event) => {
          row.name = event.target.value;
          this.onchange();
        },
      })
      : textField(row, { ...shared, id: prefix, placeholder: `level ${at}`, "aria-label": `Level ${at}` }, this.onchange);
    return h("li", { class: "option-row" },
      choice ? null : h("span", { class: "level-number", "aria-hidden": "true" }, String(at)),
      first,
      choice && textField(row.description, {
        ...shared, id: `${prefix}-description`, placeholder: "when it fits (optional)",
        "aria-label": `Description of option ${number}`,
      }, this.onchange),
      iconButton("remove", choice ? `Remove option ${number}` : `Remove level ${at}`, () => this.removeRow(question, rows, at)));
  }

  removeRow(question, rows, at) {
    rows.splice(at, 1);
    this.changed(rows.length > 0 ? `q${question.key}-row${Math.max(0, at - 1)}` : `q${question.key}-add`);
  }

  onRowKey(event, question, rows, at) {
    const suffix = event.target.id.endsWith("-description") ? "-description" : "";
    if (event.altKey && ["ArrowUp", "ArrowDown"].includes(event.key)) {
      event.preventDefault();
      const to = at + (event.key === "ArrowUp" ? -1 : 1);
      if (move(rows, at, to)) this.changed(`q${question.key}-row${to}${suffix}`);
    } else if (event.key === "Enter" && !event.ctrlKey && !event.metaKey && !event.isComposing) {
      event.preventDefault();
      this.addRow(question, rows, at + 1);
    } else if (event.key === "Backspace" && event.target.value === "" && suffix === "" && rows.length > 1) {
      event.preventDefault();
      this.removeRow(question, rows, at);
    }
  }

  /** Several pasted lines are several options; a tab, or a colon and a space, ends the name. */
  onPaste(event, question, rows, at) {
    const lines = event.clipboardData.getData("text").split(/\r?\n/).filter((line) => line.trim() !== "");
    if (lines.length < 2) return;
    event.preventDefault();
    const fresh = lines.map((line) => {
      if (question.type === "score") return field(line.trim());
      const [, name, description] = /^(.*?)(?:\t|: )(.*)$/.exec(line) ?? [null, line, ""];
      return { name: name.trim(), description: field(description.trim()) };
    });
    const limit = question.type === "choice" ? 255 : 10;
    rows.splice(at, 1, ...fresh);
    if (rows.length > limit) {
      announce(`Only ${limit} fit: ${rows.length - limit} were left out`);
      rows.length = limit;
    }
    this.changed(`q${question.key}-row${Math.min(at + fresh.length, rows.length) - 1}`);
  }
}
