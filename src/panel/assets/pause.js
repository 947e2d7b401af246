// Pauses of the service or a model, with the reasons shown to callers.
import { field, h } from "./dom.js";
import { call } from "./api.js";
import { attempt, dialog } from "./dialogs.js";

const TIERS = ["fast", "quality", "pro"];

const isOn = (pause, name) => (name === "project" ? pause.project : pause.tiers[name]);

/** The pause of everything or of the model, with its reason; `null` if the model is not paused. */
export function pauseOf(pause, tier) {
  const name = ["project", tier].find((it) => isOn(pause, it));
  return name ? { reason: pause.reasons?.[name] } : null;
}

/** Says that a model of the list of models is paused; `null` if it is not. */
export const pausedModel = (model) => (model?.paused ? `The ${model.id} model is paused${model.paused_reason ? ` (${model.paused_reason})` : ""}.` : null);

/** Changes one switch only, because others may have changed since the page was loaded. A new reason of what was paused then does not pause it again. */
function pausePatch(name, on, reason, wasOn) {
  const body = name === "project" ? { project: on } : { tiers: { [name]: on } };
  return on ? { ...body, reasons: { [name]: reason || null }, if_paused: wasOn } : body;
}

export function switches(pause, reload) {
  const send = (name, on, reason) => call("PATCH", "/pause", pausePatch(name, on, reason, isOn(pause, name)));
  const ask = (name, label) => {
    const reason = field("Reason", h("input", { name: "reason", maxlength: 200, autocomplete: "off", value: pause.reasons?.[name] ?? "", placeholder: "new weights until 14:00" }),
      "Shown to callers in the 503 response and in the list of models.");
    // The API names this field `reasons`.
    reason.dataset.field = "reasons";
    return dialog({ title: isOn(pause, name) ? `Why is ${label} paused?` : `Pause ${label}?`, text: "New requests are rejected with 503. Queued jobs wait, running jobs finish.",
      confirm: isOn(pause, name) ? "Save" : "Pause", success: isOn(pause, name) ? "Saved" : "Paused", fields: [reason], submit: (data) => send(name, true, data.get("reason").trim()) }).then(reload);
  };
  const one = (name, label, note) => {
    const on = isOn(pause, name);
    const toggle = async (event) => {
      // If the call fails, the switch returns to its state.
      if (!event.target.checked) return attempt(() => send(name, false), "Resumed").then(reload);
      event.target.checked = false;
      return ask(name, label);
    };
    return h("div", { class: "row spread" },
      h("div", { class: "wrap" }, h("b", {}, name === "project" ? "Everything" : name),
        h("div", { class: "small muted" }, on ? ["paused: ", pause.reasons?.[name] ?? "no reason given"] : note)),
      h("span", { class: "row" }, on ? h("button", { class: "button slim", type: "button", "aria-label": `Reason for ${label}`, onclick: () => ask(name, label) }, "Reason") : null,
        h("label", { class: "switch" }, h("span", { class: "sr" }, `Pause ${label}`), h("input", { type: "checkbox", role: "switch", name: `pause-${name}`, checked: on, onchange: toggle }))));
  };
  return h("section", { class: "card stack" },
    h("div", { class: "row wraps spread" }, h("h2", {}, "Pause"), h("p", { class: "muted small" }, "Pauses survive a restart.")),
    h("div", { class: "pauses" },
      one("project", "everything", "Rejects new requests for all models, with 503."),
      TIERS.map((tier) => one(tier, tier, pause.project ? "Paused because everything is paused." : "Accepts new requests."))));
}
