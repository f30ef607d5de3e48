// Starts the page: views, colours, key, the server's state, and taking the call away.
import { baseUrl, call, key, setKey } from "./api.js";
import { AskPanel } from "./ask.js";
import { Batch } from "./batch.js";
import { writeCsv } from "./csv.js";
import { announce, byId, copy, debounce, download, h } from "./dom.js";
import { parse, write } from "./json.js";
import { ServerPanel } from "./metrics.js";
import { toDraft } from "./request.js";
import { fromFragment, toFragment } from "./share.js";
import { kLanguages, snippet } from "./takeaway.js";

const kShownCode = 20_000;
const kTheme = "d3.theme";
const kThemes = [["auto", "Auto", "as the system has them"], ["light", "Light", "light"], ["dark", "Dark", "dark"]];

let model = null;
let lastResult = null;
let wantsKey = key() !== "";

// The call as code.

function currentCode() {
  const { request } = askPanel.current();
  return snippet(byId("language").value, {
    request, draft: askPanel.draft, base: baseUrl(), model: model?.get("id") ?? "MODEL", wantsKey,
  });
}

function showCode() {
  let text;
  try {
    text = currentCode();
  } catch {
    text = "The request is not of a shape that can be written as code.";
  }
  byId("code").textContent = text.length <= kShownCode ? text
    : `${text.slice(0, kShownCode)}\n… ${text.length.toLocaleString("en")} characters in all; Copy takes them all`;
}

const showCodeSoon = debounce(showCode, 100);

const askPanel = new AskPanel({
  onchange: () => showCodeSoon(),
  onkey: () => {
    wantsKey = true;
    showCode();
    openKey();
  },
  onanswer: (result, answers) => {
    lastResult = { result, answers };
    byId("save-json").disabled = byId("save-csv").disabled = false;
  },
});
new Batch(() => askPanel.withoutState());

function addTakeaway() {
  byId("language").append(...kLanguages.map(([value, name]) => h("option", { value }, name)));
  byId("language").addEventListener("change", showCode);
  byId("copy-code").addEventListener("click", () => copy(currentCode(), "Code"));
  byId("save-json").addEventListener("click", () => download("answer.json", "application/json", lastResult.result.text));
  byId("save-csv").addEventListener("click", () => {
    const rows = [...lastResult.answers].flatMap(([id, answer]) => answer.options.map(({ name, share }) =>
      [id, answer.type, name, share, name === answer.decision ? "yes" : "", answer.score]));
    download("answer.csv", "text/csv", writeCsv([["question", "type", "option", "probability", "decision", "score"], ...rows]));
  });
  byId("share").addEventListener("click", share);
  showCode();
}

async function share() {
  const { request } = askPanel.current();
  const local = (url) => typeof url === "string" && url.startsWith("data:");
  const shared = new Map(request);
  let left = 0;
  for (const name of ["images", "videos"]) {
    const urls = shared.get(name);
    if (!Array.isArray(urls)) continue;
    left += urls.filter(local).length;
    shared.set(name, urls.filter((url) => !local(url)));
    if (shared.get(name).length === 0) shared.delete(name);
  }
  const fragment = await toFragment(write(shared));
  history.replaceState(null, "", fragment);
  await copy(location.href, "Link");
  if (left > 0) announce("Link copied, without the local files");
}

async function openLink() {
  try {
    const text = await fromFragment(location.hash);
    if (text !== null) askPanel.use(toDraft(parse(text)));
  } catch {
    announce("This link does not hold a request that can be read");
  }
}

// Views.

const kViews = ["ask", "batch", "server"];
const serverPanel = new ServerPanel(() => model);

function showView(name, focus = false) {
  for (const view of kViews) {
    const chosen = view === name;
    byId(`view-${view}`).hidden = !chosen;
    byId(`tab-${view}`).setAttribute("aria-selected", String(chosen));
    byId(`tab-${view}`).tabIndex = chosen ? 0 : -1;
  }
  if (focus) byId(`tab-${name}`).focus();
  serverPanel.show(name === "server");
}

function addViews() {
  kViews.forEach((view, index) => {
    byId(`tab-${view}`).addEventListener("click", () => showView(view));
    byId(`tab-${view}`).addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (by !== undefined) showView(kViews[(index + by + kViews.length) % kViews.length], true);
    });
  });
}

// Colours.

function setTheme(name) {
  const [, text, words] = kThemes.find(([value]) => value === name) ?? kThemes[0];
  if (name === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  byId("theme").textContent = text;
  byId("theme").setAttribute("aria-label", `Colours: ${words}`);
}

function addTheme() {
  let current = localStorage.getItem(kTheme) ?? "auto";
  setTheme(current);
  byId("theme").addEventListener("click", () => {
    const at = kThemes.findIndex(([value]) => value === current);
    current = kThemes[(at + 1) % kThemes.length][0];
    localStorage.setItem(kTheme, current);
    setTheme(current);
  });
}

// The key.

function openKey() {
  byId("key").value = key();
  if (!byId("key-dialog").open) byId("key-dialog").showModal();
}

function addKey() {
  byId("open-key").addEventListener("click", openKey);
  byId("key-dialog").addEventListener("close", () => {
    const choice = byId("key-dialog").returnValue;
    if (choice === "save") setKey(byId("key").value.trim());
    if (choice === "forget") setKey("");
    byId("key").value = "";
    wantsKey = wantsKey || key() !== "";
    showCode();
    model = null;
    watch();
  });
}

// The server's state.

let watching = 0;

function showModel(state, text) {
  byId("model-dot").className = `dot ${state}`;
  if (byId("model-name").textContent !== text) byId("model-name").textContent = text;
}

async function readModel() {
  const response = await call("v1/models");
  if (response.status === 401) {
    wantsKey = true;
    showModel("waiting", "wants an API key");
    return;
  }
  if (!response.ok) return;
  const models = parse(await response.text());
  model = models.get("data")[0];
  model.set("description", models.get("models")[0]?.get("description"));
  showModel("ready", model.get("id"));
  showCode();
}

/** Looks whether the server is there: often while it is not ready, now and then when it is. */
async function watch() {
  clearTimeout(watching);
  let next = 5000;
  try {
    const response = await call("health");
    if (!response.ok) {
      model = null;
      next = 1000;
      showModel("waiting", parse(await response.text()).get("error").get("message"));
    } else if (model === null) await readModel();
    else showModel("ready", model.get("id"));
  } catch {
    model = null;
    next = 2000;
    showModel("lost", "server not reachable");
  }
  clearTimeout(watching);
  watching = setTimeout(watch, next);
}

addTheme();
addViews();
addKey();
addTakeaway();
window.addEventListener("hashchange", openLink);
document.addEventListener("visibilitychange", () => {
  if (document.hidden) clearTimeout(watching);
  else watch();
});
openLink();
watch();
