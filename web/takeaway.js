// The same call as a command and as programs. Local files are read from disk by the snippet, not written into it.
import { write, writePython } from "./json.js";

export const kLanguages = [
  ["curl", "curl"], ["typesafe", "Python · typesafe-sdk"], ["openai", "Python · openai"],
  ["requests", "Python · requests"], ["cpp", "C++ · libcurl"],
];

class Code {
  constructor(python) {
    this.python = python;
  }
}

function shellQuoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function mimeOf(url) {
  return /^data:([^;,]+)/.exec(url)?.[1] ?? "application/octet-stream";
}

/** Each local file of the draft, with a mark that stands for it in the request. */
function localFiles(draft) {
  return draft.media.filter((item) => item.url.startsWith("data:"))
    .map((item, index) => ({
      ...item, mark: `@@D3-FILE-${index}@@`, file: item.name?.replaceAll(/[\n\r\0/]/g, "_") || `file-${index}`,
      mime: mimeOf(item.url),
    }));
}

/** The request with what `replace` makes of a local file in the place of its URL. */
function withFiles(request, files, replace) {
  const copy = new Map(request);
  for (const kind of ["image", "video"]) {
    const urls = copy.get(`${kind}s`);
    if (!urls) continue;
    copy.set(`${kind}s`, urls.map((url) => {
      const file = files.find((item) => item.url === url && item.kind === kind);
      return file ? replace(file) : url;
    }));
  }
  return copy;
}

function curl({ request, files, base, wantsKey }) {
  const lines = [`curl -s ${shellQuoted(`${base}/v1/systemone`)} \\`, "  -H 'content-type: application/json' \\"];
  if (wantsKey) lines.push('  -H "authorization: Bearer $D3_API_KEY" \\');
  let body = write(withFiles(request, files, (file) => file.mark), 2);
  if (files.length > 0) {
    body = body.replaceAll(/[\\$`]/g, "\\$&");
    for (const { mark, mime, file } of files) {
      const name = file.startsWith("-") ? `./${file}` : file;
      body = body.replace(mark, () => `data:${mime};base64,$(base64 -w0 ${shellQuoted(name)})`);
    }
  }
  lines.push(`  --data-binary @- <<${files.length > 0 ? "" : "'"}D3_REQUEST${files.length > 0 ? "" : "'"}`, body, "D3_REQUEST");
  return lines.join("\n") + "\n";
}

const kDataUrl = `def data_url(path, mime):
    return f"data:{mime};base64," + base64.b64encode(Path(path).read_bytes()).decode()
`;

function fileCall({ file, mime }) {
  return new Code(`data_url(${JSON.stringify(file)}, ${JSON.stringify(mime)})`);
}

function keyCode(wantsKey) {
  return wantsKey ? 'os.environ["D3_API_KEY"]' : '"none"';
}

function pythonHead(imports, context) {
  const lines = [];
  if (context.files.length > 0) lines.push("import base64");
  if (context.wantsKey) lines.push("import os");
  if (context.files.length > 0) lines.push("from pathlib import Path");
  if (lines.length > 0) lines.push("");
  return [...lines, imports, "", ...(context.files.length > 0 ? ["", kDataUrl] : [])].join("\n");
}

function requests(context) {
  const body = withFiles(context.request, context.files, fileCall);
  const headers = context.wantsKey ? 'headers={"authorization": f"Bearer {os.environ[\'D3_API_KEY\']}"}, ' : "";
  return `${pythonHead("import requests", context)}
response = requests.post(${JSON.stringify(`${context.base}/v1/systemone`)}, ${headers}json=${writePython(body)})
response.raise_for_status()
print(response.text)
`;
}

const kSdkTypes = { choice: "Choice", noul: "Noul", score: "Score" };

function sdkQuestion(question) {
  const parts = [...question].filter(([name]) => name !== "type")
    .map(([name, value]) => `${name}=${writePython(value, 4, 2)}`);
  return new Code(`${kSdkTypes[question.get("type")]}(${parts.join(",\n            ")})`);
}

function typesafe(context) {
  const body = withFiles(context.request, context.files, fileCall);
  const questions = new Map([...body.get("questions")].map(([id, question]) => [id, sdkQuestion(question)]));
  const used = [...new Set([...body.get("questions").values()].map((question) => kSdkTypes[question.get("type")]))].sort();
  const rest = new Map([...body].filter(([name]) => !["state", "questions", "model"].includes(name)));
  const model = body.get("model") ? `\n    model=${writePython(body.get("model"))},` : "";
  const extra = rest.size > 0 ? `\n    extra_body=${writePython(rest, 4, 1)},` : "";
  return `${pythonHead(`from typesafe_sdk import ${[...used, "TypeSafeClient"].join(", ")}`, context)}
client = TypeSafeClient(base_url=${JSON.stringify(context.base)}, api_key=${keyCode(context.wantsKey)})
response = client.system_one(
    ${writePython(body.get("state"), 4, 1)},
    ${writePython(questions, 4, 1)},${model}${extra}
)
print(response.model_dump_json(indent=2))
`;
}

function described(value) {
  return typeof value === "string" ? value : write(value);
}

function decisionsQuestion(name, question) {
  const type = question.get("type");
  const instructions = question.get("instructions");
  const result = new Map([["type", type === "noul" ? "predicate" : type], ["name", name]]);
  const empty = instructions === undefined || instructions === null || instructions === "";
  result.set("instructions", empty ? "Choose the best matching option."
    : typeof instructions === "string" ? instructions : [new Map([["type", "input_json"], ["data", instructions]])]);
  const criteria = question.get("criteria");
  if (type === "choice") {
    result.set("choices", [...criteria].map(([value, description]) => {
      const choice = new Map([["value", value]]);
      return description === null || description === "" ? choice : choice.set("description", described(description));
    }));
  } else if (type === "score") {
    result.set("levels", criteria.map((level) => new Map([["label", described(level)]])));
  }
  return result;
}

/** `input` of OpenAI's shape. */
function decisionsInput(body) {
  const state = body.get("state");
  const images = body.get("images") ?? [];
  if (typeof state === "string" && state !== "" && images.length === 0) return state;
  const parts = images.map((url) => new Map([["type", "input_image"], ["image_url", url]]));
  if (typeof state === "string" || state === null) parts.push(new Map([["type", "input_text"], ["text", state ?? ""]]));
  else parts.push(new Map([["type", "input_json"], ["data", state]]));
  return [new Map([["role", "user"], ["content", parts]])];
}

/** What OpenAI's shape cannot say of a request; empty where it says all. */
function lostInDecisions(body) {
  const lost = [];
  if (body.has("videos")) lost.push("videos");
  for (const [id, question] of body.get("questions")) {
    if (question.get("type") === "noul" && question.get("criteria")) lost.push(`descriptions of yes and no of ${id}`);
    if (question.get("type") === "choice" && question.get("criteria").size < 2) lost.push(`${id}, which has one option`);
  }
  return lost;
}

function openai(context) {
  const body = withFiles(context.request, context.files, fileCall);
  const lost = lostInDecisions(body);
  const note = lost.length > 0 ? `# This API has no place for: ${lost.join("; ").replaceAll(/[\r\n]/g, " ")}\n` : "";
  const questions = [...body.get("questions")].map(([id, question]) => decisionsQuestion(id, question));
  return `${pythonHead("from openai import OpenAI", context)}
client = OpenAI(base_url=${JSON.stringify(`${context.base}/v1`)}, api_key=${keyCode(context.wantsKey)})
${note}response = client.decisions.create(
    model=${JSON.stringify(body.get("model") || context.model)},
    input=${writePython(decisionsInput(body), 4, 1)},
    questions=${writePython(questions, 4, 1)},
)
print(response.model_dump_json(indent=2))
`;
}

function rawString(text) {
  let mark = "json";
  while (text.includes(`)${mark}"`)) mark += "_";
  return `R"${mark}(${text})${mark}"`;
}

const kCppBase64 = `
std::string data_url(const std::string& path, const std::string& mime) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  const char* digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out = "data:" + mime + ";base64,";
  for (size_t i = 0; i < bytes.size(); i += 3) {
    unsigned value = 0;
    for (size_t k = 0; k < 3; ++k)
      value = value << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0);
    for (size_t k = 0; k < 4; ++k)
      out += i + k <= bytes.size() ? digits[value >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}
`;

function cpp({ request, files, base, wantsKey }) {
  let rest = write(withFiles(request, files, (file) => file.mark), 2);
  const parts = [];
  for (const { mark, file, mime } of files) {
    const at = rest.indexOf(mark);
    parts.push(rawString(rest.slice(0, at)), `data_url(${JSON.stringify(file)}, ${JSON.stringify(mime)})`);
    rest = rest.slice(at + mark.length);
  }
  parts.push(rawString(rest));
  const body = files.length > 0 ? `std::string(${parts[0]}) + ${parts.slice(1).join(" + ")}` : parts[0];
  const headers = files.length > 0
    ? "#include <fstream>\n#include <iostream>\n#include <iterator>\n#include <stdexcept>\n#include <string>"
    : "#include <iostream>\n#include <string>";
  const keyLines = wantsKey ? `
  const char* key = std::getenv("D3_API_KEY");
  headers = curl_slist_append(headers, (std::string("authorization: Bearer ") + (key ? key : "")).c_str());` : "";
  return `// g++ -std=c++17 ask.cc -o ask -lcurl
#include <curl/curl.h>
${wantsKey ? "#include <cstdlib>\n" : ""}
${headers}
${files.length > 0 ? kCppBase64 : ""}
int main() {
  const std::string body = ${body};
  curl_global_init(CURL_GLOBAL_DEFAULT);
  CURL* curl = curl_easy_init();
  curl_slist* headers = curl_slist_append(nullptr, "content-type: application/json");${keyLines}
  curl_easy_setopt(curl, CURLOPT_URL, ${JSON.stringify(`${base}/v1/systemone`)});
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body.c_str());
  const CURLcode result = curl_easy_perform(curl);  // writes the answer to standard output
  std::cout << std::endl;
  if (result != CURLE_OK) std::cerr << curl_easy_strerror(result) << "\\n";
  curl_slist_free_all(headers);
  curl_easy_cleanup(curl);
  return result == CURLE_OK ? 0 : 1;
}
`;
}

const kWriters = { curl, typesafe, openai, requests, cpp };

/**
 * The program text of a request. `draft` names its local files; `base` is the server, `model` a served name, and
 * wantsKey says that a key is sent: snippets read it from D3_API_KEY and never contain it.
 */
export function snippet(language, { request, draft, base, model, wantsKey }) {
  return kWriters[language]({ request, files: localFiles(draft), base, model, wantsKey });
}
