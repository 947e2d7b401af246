// One API key: restrictions and spending.
import { fill, h } from "./dom.js";
import { call, get, query } from "./api.js";
import { moment, time } from "./format.js";
import { defaultRateWords, rateWords, used } from "./limits.js";
import { finished, firstSpan, reach, spans, spend } from "./charts.js";
import { head } from "./shell.js";
import { attempt, copyable, notice } from "./dialogs.js";
import { pairs } from "./page_job.js";
import { deactivateKey, deleteKey, keyState, prefix, systemBadge } from "./page_keys.js";
import { changeKey, rotateKey } from "./key_form.js";

export async function key(main, context) {
  const path = `${context.base}/keys`;
  const own = `${path}/${encodeURIComponent(context.rest[0])}`;
  let span = null;
  const reload = context.reloader(() => draw());
  const draw = async () => {
    const found = await get(`${own}${query({ days: span ?? 1 })}`, context.signal);
    if (span === null) {
      span = firstSpan(found.created_at, 30);
      if (span !== 1) return draw();
    }
    context.title(found.name);
    const toggleActive = () => (found.active ? deactivateKey(path, found).then(reload) : attempt(() => call("PATCH", own, { active: true }), "Activated", reload));
    const deleteAndLeave = () => deleteKey(path, found).then((gone) => { if (gone) location.hash = "#/keys"; });
    const button = (text, work, kind = "") => h("button", { class: `button ${kind}`, type: "button", onclick: work }, text);
    return fill(main,
      head(h("span", { class: "row wraps" }, h("span", { class: "wrap" }, found.name), keyState(found), systemBadge(found)), found.system ? "The panel created this key. Images of the playground are charged to it." : null,
        ...(context.canChange ? [button("Change", () => changeKey(path, found, context, reload)), found.system ? null : button("Rotate", () => rotateKey(path, found, reload)),
          button(found.active ? "Deactivate" : "Activate", toggleActive), found.system ? null : button("Delete", deleteAndLeave, "danger")] : [])),
      h("div", { class: "stack" },
        found.previous_valid_until ? notice("info", `The old key works until ${moment(found.previous_valid_until)}.`) : null,
        h("div", { class: "halves" },
          h("section", { class: "card stack" }, h("div", { class: "row spread" }, h("h2", {}, "Spent"), h("a", { href: `#/jobs?key=${found.key_id}` }, "Jobs of this key")),
            used("Today (UTC)", found.spent_today, found.spend_limit_daily), used("This month", found.spent_this_month, found.spend_limit_monthly), used("Total", found.spent, found.spend_limit), used("Reserved for jobs that have not ended", found.reserved, null)),
          h("section", { class: "card" }, h("h2", {}, "Restrictions"), pairs(
            found.system ? null : ["Begins with", prefix(found)],
            ["Key id", copyable(found.key_id, "the key id")],
            ["Models", found.models.join(", ")],
            ["Rate limit", found.rate_limit ? rateWords(found.rate_limit) : defaultRateWords(context.session.default_rates)],
            ["Concurrent jobs", found.max_concurrent ? `at most ${found.max_concurrent}` : "no limit"],
            ["IP addresses", found.allowed_ips ? found.allowed_ips.join(", ") : "all"],
            ["Expires", found.expires_at ? moment(found.expires_at) : "never"],
            found.system ? null : ["Last used", found.last_used_at ? time(found.last_used_at) : "never"],
            ["Created", time(found.created_at)]))),
        h("div", { class: "stack tight" }, h("div", { class: "row end" }, spans(found.created_at, span, (chosen) => { span = chosen; reload(); })),
          h("div", { class: "halves" }, spend(found.days), finished(found.days)), reach(found))));
  };
  await draw();
  return reload;
}
