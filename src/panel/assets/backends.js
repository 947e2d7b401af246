// The health of the service: the disk, and the backends.
import { field, h } from "./dom.js";
import { call, post } from "./api.js";
import { attempt, dialog, notice } from "./dialogs.js";
import { badge, bytes, millis, time } from "./format.js";

const MEANING = {
  unknown: "Not used since the start",
  up: "The last response was valid",
  degraded: "The last attempt failed",
  down: "Not in use after repeated failures",
  probing: "One job is testing it",
};

/** A notice if the disk of the data directory is nearly full. */
export const diskNotice = ({ disk }) => (disk?.is_low ? notice("bad", `The disk is nearly full: ${bytes(disk.free_bytes)} are free in `, h("code", { class: "wrap" }, disk.data_dir), ". On a full disk nothing can be stored, and calls fail.") : null);

/** The consecutive failures, and when a job next tests a backend that is down. No job tests a paused one. */
function failures(it) {
  const faults = it.faults ? `${it.faults} ${it.faults === 1 ? "failure" : "failures"} in a row` : "";
  const probe = it.paused ? "" : { null: "", 0: "the next job tests it" }[it.probe_in_seconds] ?? `a job may test it in ${it.probe_in_seconds} s`;
  return [faults, probe].filter(Boolean).join(", ");
}

function lines(it) {
  const bad = ["degraded", "down", "probing"].includes(it.health);
  return [
    it.paused ? h("div", { class: "wrap warn-text" }, "Paused: ", it.paused_reason ?? "no reason given") : null,
    failures(it) ? h("div", {}, failures(it)) : null,
    it.last_error ? h("div", { class: bad ? "bad-text wrap" : "wrap" }, bad ? "Last error " : "Earlier error ", time(it.last_error.at), `: ${it.last_error.message}`) : null,
    it.last_answer_at ? h("div", {}, "Last response ", time(it.last_answer_at)) : h("div", {}, it.last_error ? "No response since the start" : MEANING.unknown),
  ];
}

/** Attempts of the last hour: count, failures and duration. */
function lastHour({ tries, failed, p50_ms: median, p95_ms: p95 }) {
  if (!tries) return null;
  const share = failed ? `${failed} failed (${Math.ceil((100 * failed) / tries)} %)` : "none failed";
  const times = median === null ? "" : `, half within ${millis(median)}, 95 % within ${millis(p95)}`;
  return h("div", {}, `Last hour: ${tries} ${tries === 1 ? "attempt" : "attempts"}, ${share}${times}`);
}

const finding = (kind, word, text) => h("li", { class: kind }, h("b", {}, word), " ", text);

const testResult = (test) => h("ul", { class: "small plain wrap", "aria-label": `Test of ${test.name}` },
  test.works.map((it) => finding("", "Works:", it)), test.fails.map((it) => finding("bad-text", "Fails:", it)));

/** Asks for the reason, and pauses the backend. Changes the reason of a paused one. */
function askPause({ name, paused, paused_reason: known }) {
  const reason = field("Reason", h("input", { name: "reason", maxlength: 200, autocomplete: "off", value: known ?? "", placeholder: "new driver until 14:00" }), "Shown to operators only.");
  return dialog({ title: paused ? `Why is ${name} paused?` : `Pause ${name}?`, text: paused ? "The backend stays paused until you resume it." : "The backend gets no new jobs. Jobs already running on it finish. If all backends of a model are paused, its jobs wait.",
    confirm: paused ? "Save" : "Pause", success: paused ? "Saved" : "Paused", fields: [reason], submit: (data) => call("PATCH", "/pause", { backends: [name], reason: data.get("reason").trim() || null, if_paused: paused }) });
}

/** Pauses the backend; or resumes it, and changes the reason. */
function pauseButtons(backend, reload) {
  const { name, paused } = backend;
  const ask = () => askPause(backend);
  const resume = () => attempt(() => call("PATCH", "/pause", { resume_backends: [name] }), "Resumed");
  const button = (text, label, act) => h("button", { class: "button slim", type: "button", "aria-label": label, onclick: () => act().then(reload) }, text);
  return paused ? [button("Reason", `Reason for ${name}`, ask), button("Resume", `Resume ${name}`, resume)] : button("Pause", `Pause ${name}`, ask);
}

/** `tests` holds test results while the page is open; without it there are no buttons. */
export function backends(list, tests, reload) {
  const test = async (name) => {
    const result = await attempt(() => post(`/backends/${encodeURIComponent(name)}/test`));
    if (!result) return;
    tests.set(name, result);
    reload();
  };
  return h("ul", { class: "stack lines" }, list.map((it) => h("li", {},
    h("div", { class: "row wraps spread" }, h("b", { class: "wrap" }, it.name),
      h("span", { class: "row wraps" }, h("span", { class: "small muted nowrap" }, it.shared ? `${it.running} busy here, ${it.places} for all nodes` : `${it.running} of ${it.places} busy`),
        h("span", { title: MEANING[it.health] }, badge(it.health)), it.paused ? badge("paused") : null,
        tests ? pauseButtons(it, reload) : null,
        tests ? h("button", { class: "button slim", type: "button", "aria-label": `Test ${it.name}`, onclick: ({ currentTarget: button }) => { button.disabled = true; test(it.name).finally(() => { button.disabled = false; }); } }, "Test") : null)),
    h("div", { class: "small muted" }, lines(it), lastHour(it.last_hour)),
    tests?.has(it.name) ? testResult(tests.get(it.name)) : null)));
}
