// The nodes page of the operator: processes that share the database, with their state, jobs and configuration.
import { fill, h } from "./dom.js";
import { get } from "./api.js";
import { badge, millis, time } from "./format.js";
import { notice } from "./dialogs.js";
import { repeat } from "./refresh.js";
import { head } from "./shell.js";
import { empty, table } from "./lists.js";

/** Milliseconds between reloads: heartbeats cause no change event. */
const EVERY = 2_000;

const COLUMNS = [
  { title: "Node", kind: "rest", cell: (it) => [h("b", { class: "wrap" }, it.host || "unnamed"), h("span", { class: "small muted" }, ` process ${it.pid}${it.answers ? ", this node" : ""}`)] },
  { title: "State", kind: "fit", cell: (it) => badge(it.state) },
  { title: "Running", kind: "num fit", cell: (it) => String(it.running) },
  { title: "Last heartbeat", kind: "num fit", cell: (it) => `${millis(it.beat_age_ms)} ago` },
  { title: "Version", kind: "fit", cell: (it) => it.version },
  { title: "Configuration", kind: "fit", cell: (it) => h("code", {}, it.configuration) },
  { title: "Started", kind: "fit", cell: (it) => time(it.started_at) },
];

const ALONE = "This is a single process with its records in its own data directory. This is enough for most installations. Several nodes share their records in PostgreSQL ([storage] url) and their images in a bucket ([storage] objects).";
const SHARED = "The processes that share the database. Each runs jobs, and takes over the jobs of a node that dies.";

export async function nodes(main, context) {
  const list = h("div", { class: "stack" });
  const text = h("span", {});
  const draw = async () => {
    const { data, shared, warnings } = await get("/nodes?limit=100", context.signal);
    fill(text, shared ? SHARED : ALONE);
    fill(list, warnings.map((it) => notice("warn", it)),
      h("div", { class: "sheet" }, data.length ? h("div", { class: "scroll" }, table(COLUMNS, data, "Nodes", (it) => it.node_id ?? "")) : empty("No node yet", "This process is joining.")));
  };
  const reload = context.reloader(draw);
  repeat(EVERY, reload, context.signal);
  fill(main, head("Nodes", text), list);
  await draw();
  return reload;
}
