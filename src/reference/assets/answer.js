// Shows a response: status, time, headers and body, streams as they arrive, images as images.
import { fill, h } from "./dom.js";
import { block, pretty } from "./json.js";

/** Sends a request and shows the answer in `place`. */
export async function received(place, request, held) {
  const stop = new AbortController();
  fill(place, h("p", { class: "said" }, "Waiting… ", h("button", { type: "button", class: "slim", onclick: () => stop.abort() }, "Stop")));
  const began = performance.now();
  let answer;
  try {
    answer = await fetch(request.target, { method: request.method, headers: request.headers, body: request.body, signal: stop.signal, cache: "no-store" });
  } catch (error) {
    fill(place, h("p", { class: "said bad" }, error.name === "AbortError" ? "Stopped." : `No response: ${error.message}`));
    return;
  }
  const took = Math.round(performance.now() - began);
  const shown = h("div", {});
  fill(place,
    h("p", { class: "came" }, h("span", { class: `status s${String(answer.status)[0]}` }, String(answer.status)), h("span", {}, answer.statusText), h("span", { class: "muted small" }, `${took} ms`)),
    shown,
    h("details", { class: "inner" }, h("summary", {}, "Headers"),
      block([...answer.headers].map(([name, value]) => `${name}: ${value}`).join("\n"), { plain: true })));
  try { await body(shown, answer, stop, held); } catch (error) {
    shown.append(h("p", { class: "said bad" }, error.name === "AbortError" ? "Stopped." : `The response broke off: ${error.message}`));
  }
}

async function body(shown, answer, stop, held) {
  const type = answer.headers.get("content-type") ?? "";
  if (type.startsWith("image/")) {
    const url = URL.createObjectURL(await answer.blob());
    // Once it is drawn, the page holds it no longer a second time.
    shown.append(picture(url, () => URL.revokeObjectURL(url)));
  } else if (type.startsWith("text/event-stream")) {
    await stream(shown, answer, stop);
  } else if (type.includes("json")) {
    const read = await answer.json();
    shown.append(block(pretty(read)));
    await further(shown, answer, read, held);
  } else {
    const text = await answer.text();
    if (text) shown.append(block(text, { plain: true }));
  }
}

const picture = (url, loaded) => h("figure", { class: "picture" }, h("img", { src: url, alt: "The image in the response", onload: loaded, onerror: loaded }));

/** Events as they come. */
async function stream(shown, answer, stop) {
  const view = block("", { plain: true, title: "Events" });
  const end = h("button", { type: "button", class: "slim", onclick: () => stop.abort() }, "Stop");
  shown.append(view, end);
  const code = view.querySelector("code");
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) code.append(part.value);
  } finally { end.remove(); }
}

/** What can be done with the answer: look at the picture, or wait for it. */
async function further(shown, answer, read, held) {
  if (answer.status === 202 && read.status_url) {
    const place = h("div", { class: "received" });
    const wait = h("button", { type: "button", class: "slim", onclick: () => {
      const headers = { Authorization: `Bearer ${held.secret()}` };
      return received(place, { method: "GET", target: `${read.status_url}?wait=60`, headers }, held);
    } }, "Wait for the image");
    shown.append(wait, place);
  }
  const address = read?.result?.image_url;
  if (!address) return;
  const url = new URL(address, location.href);
  // Pictures that this server keeps are shown from here, under whatever name it was reached, and before what tells of them.
  if (url.pathname.startsWith("/files/")) shown.prepend(picture(`${url.pathname}${url.search}`));
  else shown.append(h("p", { class: "small" }, h("a", { href: address, target: "_blank", rel: "noreferrer" }, "Open the image")));
}
