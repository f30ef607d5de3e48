// Elements from plain values. Text only ever becomes text nodes, attribute values or properties.

const kSvg = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "text") element.textContent = value;
    else if (name === "value") element.value = value;
    else if (name === "style") for (const [key, item] of Object.entries(value)) element.style.setProperty(key, item);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** h("button", {class: "quiet", onclick: f}, "Text", other) */
export function h(name, attributes, ...children) {
  return fill(document.createElement(name), attributes, children);
}

export function svg(name, attributes, ...children) {
  return fill(document.createElementNS(kSvg, name), attributes, children);
}

export function byId(id) {
  return document.getElementById(id);
}

const kIcons = {
  up: "M4 10l4-4 4 4",
  down: "M4 6l4 4 4-4",
  copy: "M6 6h7v7H6zM3 10V3h7",
  remove: "M4 4l8 8M12 4l-8 8",
  plus: "M8 3v10M3 8h10",
  link: "M6.5 9.5l3-3M7 5l1.5-1.500a2.500 2.500 0 0 1 4 4L11 9M9 11l-1.500 1.500a2.500 2.500 0 0 1-4-4L5 7",
  download: "M8 3v7M5 7.500l3 3 3-3M3 13h10",
};

export function icon(name) {
  return svg("svg", { viewBox: "0 0 16 16", class: "icon", "aria-hidden": "true" }, svg("path", { d: kIcons[name] }));
}

export function iconButton(name, label, onclick, attributes = {}) {
  return h("button", { type: "button", class: "icon-button", "aria-label": label, title: label, onclick, ...attributes },
    icon(name));
}

/** A group of buttons of which one is pressed; `onchange` gets the value. */
export function segmented(label, options, value, onchange) {
  const group = h("div", { class: "segmented", role: "group", "aria-label": label });
  const show = (chosen) => {
    for (const button of group.children) button.setAttribute("aria-pressed", String(button.dataset.value === chosen));
  };
  for (const [key, text] of options) {
    group.append(h("button", {
      type: "button", "data-value": key,
      onclick: () => {
        show(key);
        onchange(key);
      },
    }, text));
  }
  group.show = show;
  show(value);
  return group;
}

/** Calls `run` once, `wait` milliseconds after the last call. */
export function debounce(run, wait) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => run(...values), wait);
  };
}

/** Says something to screen readers, and to everyone for a few seconds. */
export function announce(text) {
  const live = byId("announcement");
  live.textContent = text;
  live.classList.add("shown");
  clearTimeout(announce.timer);
  announce.timer = setTimeout(() => live.classList.remove("shown"), 4000);
}

export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Pages over plain http from another machine have no clipboard API.
    const area = h("textarea", { class: "offscreen", value: text, "aria-hidden": "true" });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  announce(`${what} copied`);
}

export function download(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

export function formatBytes(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  const units = ["kB", "MB", "GB"];
  let value = bytes / 1000;
  let unit = 0;
  for (; value >= 999.5 && unit + 1 < units.length; ++unit) value /= 1000;
  return `${value.toPrecision(3)} ${units[unit]}`;
}

export function percent(share) {
  return `${(share * 100).toFixed(1)} %`;
}

export function formatTime(milliseconds) {
  if (milliseconds < 1) return `${milliseconds.toFixed(2)} ms`;
  if (milliseconds < 1000) return `${milliseconds.toPrecision(3)} ms`;
  return `${(milliseconds / 1000).toPrecision(3)} s`;
}
