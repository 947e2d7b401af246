// Verifies a received delivery: which check fails, and why.
import { field, fill, form, h } from "./dom.js";
import { post } from "./api.js";
import { notice } from "./dialogs.js";

const EXAMPLE = "X-Signature: sha256=…\nX-Timestamp: 1790000000\n\n{\"error\":null,…}";

/** `path` is the path of the webhooks. Call `offer` with the webhooks to choose from. */
export function verifyDelivery(path) {
  const choice = h("select", { name: "webhook" });
  const result = h("div", { role: "status" });
  function verdict({ verifies, is_stale: isStale }) {
    if (verifies) return notice("good", "The delivery verifies.");
    // Most deliveries are pasted later than a receiver would accept them.
    if (isStale) return notice("warn", "The signature is right, but the timestamp is older than five minutes, so receivers now reject it.");
    return notice("bad", "The delivery does not verify.");
  }
  const show = ({ verifies, is_stale: isStale, checks, signed_by: other }) => fill(result, h("div", { class: "stack tight" },
    verdict({ verifies, is_stale: isStale }),
    h("ul", { class: "plain stack tight", "aria-label": "Checks" }, checks.map((it) => h("li", { class: it.verifies || isStale ? null : "bad-text" }, h("b", {}, it.header), ": ", it.words))),
    other ? h("p", {}, "The secret of another webhook signed it: ", h("code", { class: "wrap" }, other)) : null));
  const node = form({ class: "stack" }, async (data) => {
    fill(result);
    show(await post(`${path}/${data.get("webhook")}/verify`, { delivery: data.get("delivery") }));
  },
  field("Webhook", choice),
  field("Headers and body", h("textarea", { name: "delivery", required: true, spellcheck: "false", class: "mono", placeholder: EXAMPLE }),
    "As your receiver got them: one line per header, a blank line, the body."),
  h("div", {}, h("button", { class: "button", type: "submit" }, "Verify")), result);
  const offer = (webhooks) => {
    const chosen = choice.value;
    fill(choice, webhooks.map((it) => h("option", { value: it.webhook_id, selected: it.webhook_id === chosen }, it.url)));
  };
  return { node, offer };
}
