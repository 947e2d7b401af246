// The back ends with the state that was seen of them.
import { h } from "./dom.js";
import { badge, time } from "./format.js";

/** What a state means. */
const MEANING = {
  unknown: "Not used since the start",
  up: "The last answer was as it should be",
  degraded: "Used, but the last try failed",
  down: "Not used after repeated failures",
  probing: "One job is testing it",
};

/** The failures in a row, and when a back end that is down is tested. */
function trouble(it) {
  const faults = it.faults ? `${it.faults} ${it.faults === 1 ? "failure" : "failures"} in a row` : "";
  const probe = it.probe_in_seconds === null ? "" : `next test in ${it.probe_in_seconds} s`;
  return [faults, probe].filter(Boolean).join(", ");
}

function lines(it) {
  const bad = ["degraded", "down", "probing"].includes(it.health);
  return [
    trouble(it) ? h("div", {}, trouble(it)) : null,
    it.last_error ? h("div", { class: bad ? "bad-text wrap" : "wrap" }, bad ? "Last error " : "Earlier error ", time(it.last_error.at), `: ${it.last_error.message}`) : null,
    it.last_answer_at ? h("div", {}, "Last answer ", time(it.last_answer_at)) : h("div", {}, it.last_error ? "No answer since the start" : MEANING.unknown),
  ];
}

export const backends = (list) => h("ul", { class: "stack lines" }, list.map((it) => h("li", {},
  h("div", { class: "row wraps spread" }, h("b", { class: "wrap" }, it.name),
    h("span", { class: "row wraps" }, h("span", { class: "small muted nowrap" }, `${it.running} of ${it.places} busy`),
      h("span", { title: MEANING[it.health] }, badge(it.health)))),
  h("div", { class: "small muted" }, lines(it)))));
