// Images and videos of the state: dropped, pasted or picked, with previews. Only local files are shown: a preview of a
// web address would be a request to another server.
import { announce, byId, formatBytes, h, iconButton } from "./dom.js";

function readUrl(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}

/** Media items of the files that are images or videos. */
export async function readMedia(files) {
  const items = [];
  for (const file of files) {
    const kind = /^(image|video)\//.exec(file.type)?.[1];
    if (kind === undefined) {
      announce(`${file.name} is neither an image nor a video`);
      continue;
    }
    try {
      items.push({ kind, url: await readUrl(file), name: file.name || `pasted ${kind}`, size: file.size });
    } catch {
      announce(`${file.name} cannot be read`);
    }
  }
  return items;
}

export function isMediaFile(file) {
  return /^(image|video)\//.test(file.type);
}

function preview(item) {
  if (!item.url.startsWith("data:")) return h("span", { class: "media-remote" }, "URL");
  if (item.kind === "image") return h("img", { src: item.url, alt: "" });
  const video = h("video", { src: item.url, muted: true, playsinline: true, preload: "auto", "aria-hidden": "true", tabindex: "-1" });
  return video;
}

function mediaName(item) {
  return item.name || (item.url.startsWith("data:") ? `embedded ${item.kind}` : item.url);
}

export function renderMedia(draft, onchange) {
  const list = byId("media-list");
  list.replaceChildren(...draft.media.map((item, index) => {
    const position = draft.media.slice(0, index).filter((other) => other.kind === item.kind).length;
    const name = mediaName(item);
    return h("li", { class: "media-item", "data-path": `${item.kind}s[${position}]` },
      preview(item),
      h("span", { class: "media-text" },
        h("span", { class: "media-name", title: name }, name),
        h("span", { class: "quiet" }, `${item.kind}${item.size === undefined ? "" : `, ${formatBytes(item.size)}`}`)),
      iconButton("remove", `Remove ${name}`, () => {
        draft.media.splice(index, 1);
        onchange();
        (list.querySelector("button") ?? byId("pick-media")).focus();
      }));
  }));
  list.hidden = draft.media.length === 0;
}

/** Lets `zone` take dropped files and `onfiles` see them; false from `wants` leaves the event alone. */
export function takeDrops(zone, onfiles) {
  let depth = 0;
  const mark = (over) => zone.classList.toggle("drop-target", over);
  const hasFiles = (event) => [...event.dataTransfer.types].includes("Files");
  zone.addEventListener("dragenter", (event) => {
    if (hasFiles(event)) mark(++depth > 0);
  });
  zone.addEventListener("dragleave", (event) => {
    if (hasFiles(event)) mark(--depth > 0);
  });
  zone.addEventListener("dragover", (event) => {
    if (hasFiles(event)) event.preventDefault();
  });
  zone.addEventListener("drop", (event) => {
    depth = 0;
    mark(false);
    if (!hasFiles(event)) return;
    event.preventDefault();
    onfiles([...event.dataTransfer.files]);
  });
}
