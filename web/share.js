// A request in the fragment of a link, which browsers do not send to servers: #r= and the deflated JSON as base64url.

async function through(stream, bytes) {
  const writer = stream.writable.getWriter();
  const wrote = writer.write(bytes).then(() => writer.close());
  const result = await new Response(stream.readable).arrayBuffer();
  await wrote;
  return new Uint8Array(result);
}

function toBase64Url(bytes) {
  let text = "";
  for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

function fromBase64Url(text) {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
}

export async function toFragment(json) {
  return `#r=${toBase64Url(await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(json)))}`;
}

/** The JSON text of a fragment, or null where there is none; throws when it is damaged or unreasonably large. */
export async function fromFragment(fragment) {
  if (!fragment.startsWith("#r=")) return null;
  const stream = new Blob([fromBase64Url(fragment.slice(3))]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const reader = stream.getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    text += decoder.decode(value, { stream: true });
    if (text.length > 16_000_000) throw new Error("too large");
  }
}
