// Shows the status of the service and refreshes it every ten seconds.
import { ROOT, fill, h } from "./dom.js";

const REFRESH_MILLIS = 10_000;
const LEADS = {
  up: "All models accept jobs.",
  limited: "Some new jobs are not accepted, or wait for a backend.",
  paused: "The service is paused. New jobs are not accepted.",
  stopping: "The service is stopping. Try again in a minute.",
};

const place = document.getElementById("status");

async function load() {
  try {
    const answer = await fetch(`${ROOT}/status`, { headers: { accept: "application/json" }, cache: "no-store" });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    show(await answer.json());
  } catch {
    fill(place, h("p", { class: "lead unreachable" }, "The service does not respond. This page retries automatically."));
  }
  setTimeout(load, REFRESH_MILLIS);
}

function show(status) {
  const rows = status.models.map((model) => h("tr", {},
    h("th", { scope: "row" }, model.id),
    h("td", {}, state(model)),
    h("td", {}, wait(model))));
  const head = ["Model", "State", "Wait now"].map((name) => h("th", { scope: "col" }, name));
  fill(place,
    h("p", { class: `lead ${status.status}` }, LEADS[status.status]),
    h("table", {}, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows)),
    h("p", { class: "muted small" }, `As of ${new Date(status.at).toLocaleTimeString()}.`));
}

function state(model) {
  if (model.paused) return model.reason ? `paused: ${model.reason}` : "paused";
  return model.reason ? `limited: ${model.reason}` : "accepts jobs";
}

function wait(model) {
  const seconds = model.wait_seconds;
  if (seconds === null) return model.paused || model.reason ? "–" : "not known yet";
  if (seconds === 0) return "none";
  if (seconds < 90) return `about ${seconds} s`;
  return seconds < 5_400 ? `about ${Math.round(seconds / 60)} min` : `about ${Math.round(seconds / 3_600)} h`;
}

load();
