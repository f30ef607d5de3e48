// JSON as d3 reads it: objects keep the order of their keys (JavaScript's would move "10" before "b"), numbers keep
// their digits, and an error says where it is. Objects are Maps, numbers that a double cannot hold are RawNumbers.

export class RawNumber {
  constructor(text) {
    this.text = text;
  }
}

export class JsonError extends Error {
  constructor(message, offset) {
    super(message);
    this.offset = offset;
  }
}

const kNumber = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const kPlain = /[^"\\\u0000-\u001f]*/y;
const kSpace = /[ \t\n\r]*/y;
const kEscapes = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };
const kMaxDepth = 500;

class Parser {
  constructor(text) {
    this.text = text;
    this.at = 0;
    this.depth = 0;
  }

  fail(message, offset = this.at) {
    throw new JsonError(message, offset);
  }

  match(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found === null) return null;
    this.at = pattern.lastIndex;
    return found[0];
  }

  peek() {
    this.match(kSpace);
    return this.text[this.at];
  }

  document() {
    const value = this.value();
    if (this.peek() !== undefined) this.fail("Something follows after the end of the JSON");
    return value;
  }

  value() {
    const next = this.peek();
    if (next === undefined) this.fail("The JSON ends too early");
    if (next === "{" || next === "[") {
      if (++this.depth > kMaxDepth) this.fail("The JSON is nested too deeply");
      const value = next === "{" ? this.object() : this.array();
      --this.depth;
      return value;
    }
    if (next === '"') return this.string();
    for (const [word, value] of [["true", true], ["false", false], ["null", null]]) {
      if (this.text.startsWith(word, this.at)) {
        this.at += word.length;
        return value;
      }
    }
    return this.number();
  }

  number() {
    const text = this.match(kNumber);
    if (text === null) this.fail(`A value cannot begin with ${JSON.stringify(this.text[this.at])}`);
    const number = Number(text);
    return String(number) === text ? number : new RawNumber(text);
  }

  string() {
    const start = this.at++;
    let result = "";
    for (;;) {
      result += this.match(kPlain);
      const next = this.text[this.at];
      if (next === '"') break;
      if (next === undefined) this.fail("This string has no closing quote", start);
      if (next !== "\\") this.fail("A line break or control character inside a string; write \\n");
      result += this.escape();
    }
    ++this.at;
    return result;
  }

  escape() {
    const start = this.at;
    const letter = this.text[start + 1];
    this.at += 2;
    if (letter !== "u") {
      if (!Object.hasOwn(kEscapes, letter ?? "")) this.fail("No such escape in JSON", start);
      return kEscapes[letter];
    }
    const digits = this.text.slice(this.at, this.at + 4);
    if (!/^[0-9a-fA-F]{4}$/.test(digits)) this.fail("\\u wants four hexadecimal digits", start);
    this.at += 4;
    return String.fromCharCode(parseInt(digits, 16));
  }

  array() {
    const items = [];
    ++this.at;
    if (this.peek() === "]") return ++this.at, items;
    for (;;) {
      items.push(this.value());
      const next = this.peek();
      if (next !== "," && next !== "]") this.fail("A list wants , or ] here");
      ++this.at;
      if (next === "]") return items;
    }
  }

  object() {
    const members = new Map();
    ++this.at;
    if (this.peek() === "}") return ++this.at, members;
    for (;;) {
      if (this.peek() !== '"') this.fail("An object wants a name in double quotes here");
      const key = this.string();
      if (this.peek() !== ":") this.fail("A name wants : after it");
      ++this.at;
      members.set(key, this.value());
      const next = this.peek();
      if (next !== "," && next !== "}") this.fail("An object wants , or } here");
      ++this.at;
      if (next === "}") return members;
    }
  }
}

/** The value of a text; throws JsonError. */
export function parse(text) {
  return new Parser(text).document();
}

function writeList(open, items, close, indent, level) {
  if (items.length === 0) return open + close;
  if (indent === 0) return open + items.join(", ") + close;
  const pad = "\n" + " ".repeat(indent * (level + 1));
  return open + pad + items.join("," + pad) + "\n" + " ".repeat(indent * level) + close;
}

/** Lists and objects, on one line or indented; `leaf` writes what is neither. */
function layOut(value, indent, level, leaf) {
  const inner = (item) => layOut(item, indent, level + 1, leaf);
  if (value instanceof RawNumber) return value.text;
  if (Array.isArray(value)) return writeList("[", value.map(inner), "]", indent, level);
  if (value instanceof Map) {
    const members = [...value].map(([key, item]) => `${JSON.stringify(key)}: ${inner(item)}`);
    return writeList("{", members, "}", indent, level);
  }
  return leaf(value);
}

/** JSON text of a value. */
export function write(value, indent = 0) {
  return layOut(value, indent, 0, (leaf) => JSON.stringify(leaf));
}

function pythonLeaf(value) {
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  return value?.python ?? JSON.stringify(value);
}

/** A value as a Python literal. */
export function writePython(value, indent = 4, level = 0) {
  return layOut(value, indent, level, pythonLeaf);
}

/** Line and column, both from 1, of an offset. */
export function place(text, offset) {
  const before = text.slice(0, offset);
  const line = before.split("\n").length;
  return { line, column: offset - before.lastIndexOf("\n") };
}
