// Shows a response: status, time, headers and body. Streams appear as they arrive, images as images.
import { ROOT, fill, h } from "./dom.js";
import { block, pretty } from "./json.js";

/** Sends a request and shows the response in `place`. */
export async function sendAndShow(place, request, auth) {
  const stop = new AbortController();
  fill(place, h("p", { class: "said" }, "Waiting… ", h("button", { type: "button", class: "slim", onclick: () => stop.abort() }, "Stop")));
  const began = performance.now();
  let response;
  try {
    response = await fetch(`${ROOT}${request.target}`, { method: request.method, headers: request.headers, body: request.body, signal: stop.signal, cache: "no-store" });
  } catch (error) {
    fill(place, h("p", { class: "said bad" }, error.name === "AbortError" ? "Stopped." : `No response: ${error.message}`));
    return;
  }
  const took = Math.round(performance.now() - began);
  const shown = h("div", {});
  fill(place,
    h("p", { class: "came" }, h("span", { class: `status s${String(response.status)[0]}` }, String(response.status)), h("span", {}, response.statusText), h("span", { class: "muted small" }, `${took} ms`)),
    shown,
    h("details", { class: "inner" }, h("summary", {}, "Headers"),
      block([...response.headers].map(([name, value]) => `${name}: ${value}`).join("\n"), { plain: true })));
  try { await body(shown, response, stop, auth); } catch (error) {
    shown.append(h("p", { class: "said bad" }, error.name === "AbortError" ? "Stopped." : `The response was interrupted: ${error.message}`));
  }
}

async function body(shown, response, stop, auth) {
  const type = response.headers.get("content-type") ?? "";
  if (type.startsWith("image/")) {
    shown.append(await drawn(response));
  } else if (type.startsWith("text/event-stream")) {
    await stream(shown, response, stop);
  } else if (type.includes("json")) {
    const read = await response.json();
    shown.append(block(pretty(read)));
    await nextStep(shown, response, read, auth);
  } else {
    const text = await response.text();
    if (text) shown.append(block(text, { plain: true }));
  }
}

const image = (url, loaded) => h("figure", { class: "image" }, h("img", { src: url, alt: "The image in the response", onload: loaded, onerror: loaded }));

/** Shows events as they arrive. */
async function stream(shown, response, stop) {
  const view = block("", { plain: true, title: "Events" });
  const end = h("button", { type: "button", class: "slim", onclick: () => stop.abort() }, "Stop");
  shown.append(view, end);
  const code = view.querySelector("code");
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) code.append(part.value);
  } finally { end.remove(); }
}

/** Offers the next step: wait for the image, or show it. */
async function nextStep(shown, response, read, auth) {
  if (response.status === 202 && read.status_url) {
    const place = h("div", { class: "received" });
    const wait = h("button", { type: "button", class: "slim", onclick: () => {
      const headers = { Authorization: `Bearer ${auth.secret()}` };
      return sendAndShow(place, { method: "GET", target: `${read.status_url}?wait=60`, headers }, auth);
    } }, "Wait for the image");
    shown.append(wait, place);
  }
  if (read?.result?.image_url) await showImage(shown, read, auth);
}

/** Shows the image of a job. It comes from this server, because the page may show no images of another one, such as a bucket. */
async function showImage(shown, job, auth) {
  const headers = { Authorization: `Bearer ${auth.secret()}` };
  const response = await fetch(`${ROOT}/docs/${auth.name}/jobs/${encodeURIComponent(job.job_id)}/picture`, { headers, cache: "no-store" });
  if (!response.ok) {
    shown.append(h("p", { class: "small" }, h("a", { href: job.result.image_url, target: "_blank", rel: "noreferrer" }, "Open the image")));
    return;
  }
  shown.prepend(await drawn(response));
}

/** The image in the body of a response. */
async function drawn(response) {
  const url = URL.createObjectURL(await response.blob());
  // Free the copy once the image is drawn.
  return image(url, () => URL.revokeObjectURL(url));
}
