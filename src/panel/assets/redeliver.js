// Resends failed deliveries of a webhook: asks for the range, shows the count, then sends.
import { field, h } from "./dom.js";
import { get, post, query } from "./api.js";
import { dialog, toast } from "./dialogs.js";

const HOUR = 3_600_000;
const SPANS = [["", "Any time"], [String(HOUR), "The last hour"], [String(24 * HOUR), "The last 24 hours"], [String(7 * 24 * HOUR), "The last 7 days"]];

const plural = (count) => `${count} failed ${count === 1 ? "delivery" : "deliveries"}`;

/** `webhook` is {webhook_id, url}; `path` is the path of all webhooks. */
export async function redeliver(path, webhook, reload) {
  const own = `${path}/${webhook.webhook_id}/redeliver`;
  // Deliveries that fail after the confirmation are not included.
  const to = new Date();
  const asked = await dialog({ title: "Resend failed deliveries", text: webhook.url, confirm: "Count",
    fields: [field("Created in", h("select", { name: "span" }, SPANS.map(([value, words]) => h("option", { value }, words))))],
    submit: async (data) => {
      const span = Number(data.get("span"));
      const range = { from: span ? new Date(to - span).toISOString() : null, to: to.toISOString() };
      return { range, ...await get(`${own}${query(range)}`) };
    } });
  if (!asked) return;
  const { range, failed, all } = asked;
  if (!failed && all) { toast("No delivery failed in this period"); return; }
  const many = all ? plural(failed) : `${plural(failed)} or more`;
  await dialog({ title: `Resend ${many}?`, text: "Each gets a new set of attempts.", confirm: `Resend ${all ? failed : "all"}`,
    submit: async () => {
      let sent = 0, cursor = null;
      do {
        const part = await post(own, cursor ? { ...range, cursor } : range);
        sent += part.redelivered;
        cursor = part.next_cursor;
      } while (cursor);
      toast(`${sent} queued again`);
    } });
  reload();
}
