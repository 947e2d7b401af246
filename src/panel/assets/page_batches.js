// The batches of the account, and the form that submits a file.
import { fill, h, sentence } from "./dom.js";
import { lines, sendFile } from "./api.js";
import { bytes, grouped, money, shortId, time } from "./format.js";
import { head } from "./shell.js";
import { code, notice } from "./dialogs.js";
import { empty, listing, table } from "./lists.js";
import { batchDraftOf } from "./drafts.js";
import { batchBadge, meter } from "./batch_progress.js";

/** Limit of the API. */
const MOST_BYTES = 16 * 1024 * 1024;
const TABLE = "text/csv";
/** The service detects a file that is one JSON body. */
const LINES = "application/x-ndjson";
const KINDS = ".csv,.jsonl,.ndjson,.json,text/csv,application/json,application/x-ndjson";

const EXAMPLES = {
  table: "custom_id,model,prompt,aspect_ratio\nfox,fast,a red fox in the snow,1:1\nowl,quality,\"an owl, at night\",3:4",
  lines: "{\"custom_id\": \"fox\", \"model\": \"fast\", \"prompt\": \"a red fox in the snow\", \"aspect_ratio\": \"1:1\"}\n{\"custom_id\": \"owl\", \"model\": \"quality\", \"prompt\": \"an owl, at night\", \"aspect_ratio\": \"3:4\"}",
};

const shownPrice = ({ price, charged, ended_at }) => (ended_at ? charged : price);

function priceCell(batch, digits) {
  const { price, charged, ended_at } = batch;
  if (charged === price) return money(price, digits);
  return h("div", {}, money(shownPrice(batch), digits), h("div", { class: "small muted" }, ended_at ? `of ${grouped(price)}` : "at most"));
}

const columns = [
  { title: "Batch", cell: (it) => h("a", { href: `#/batches/${it.batch_id}` }, shortId(it.batch_id)) },
  { title: "State", kind: "fit", cell: batchBadge },
  { title: "Progress", kind: "rest", cell: (it) => meter(it) },
  { title: "Price", kind: "num fit", amount: shownPrice, cell: priceCell },
  { title: "Created", kind: "fit", cell: (it) => time(it.created_at) },
];

const many = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

/** The position of an error, counted from 1; the API counts from 0. */
function positionOf(field) {
  const [, index, rest] = field.match(/^requests\[(\d+)\](?:\.(.+))?$/) ?? [];
  if (index === undefined) return field === "requests" || field === "body" ? "the file" : field;
  return `request ${Number(index) + 1}${rest ? `, ${rest}` : ""}`;
}

/** Splits an API error into position and text: the API puts the line at the start of the message, and may name another request in it. */
function located({ field, message }) {
  const [, line, words] = message.match(/^on line (\d+): (.+)$/s) ?? [null, null, message];
  const text = words.replace(/\brequests\[(\d+)\]/g, (_, index) => `request ${Number(index) + 1}`);
  return { where: line ? `line ${line}, ${positionOf(field)}` : positionOf(field), text: text === "is required" ? "Is missing." : sentence(text) };
}

const faults = (errors) => h("div", { class: "sheet" }, h("div", { class: "scroll faults", tabindex: "0", role: "region", "aria-label": "Errors in the file" }, table([
  { title: "Where", kind: "fit", cell: (it) => it.where },
  { title: "Error", kind: "wide", cell: (it) => h("span", { class: "wrap" }, it.text) },
], errors.map((it, at) => ({ ...located(it), at })), "Errors", (it) => String(it.at))));

/** Whether all parts of a request are still stored: of a deleted prompt and of deleted input URLs, only their absence is left. */
const isWhole = ({ prompt, input_images_urls: urls }) => prompt !== null && urls?.length !== 0;

/** The file format that a request asked for, at the end of its line. A batch of the panel cannot ask for one. */
const FORMAT = /,"output_format":"[^"]+"\}$/;

/** The failed requests of a batch as a file, without requests of which a part was deleted. */
async function failedOf(id, context) {
  const all = await lines(`${context.base}/batches/${encodeURIComponent(id)}/failed?formats=true`, context.signal);
  const whole = all.filter((line) => isWhole(JSON.parse(line)));
  return {
    name: `failed-requests-of-${id.slice(-8)}.jsonl`, blob: new Blob([whole.map((line) => line.replace(FORMAT, "}")).join("\n")]), type: LINES,
    left: all.length - whole.length, formats: whole.filter((line) => FORMAT.test(line)).length,
  };
}

/** The form that checks a file and submits it. */
function submitter(context) {
  const draft = batchDraftOf(context.account.id);
  const path = `${context.base}/batches`;
  const shown = h("div", { class: "stack" });
  const spoken = h("p", { class: "sr", role: "status" });
  // Only the result of the last check is shown.
  let lastCheck = 0;

  /** Loads the price or the errors, without submitting. */
  async function check() {
    const mine = ++lastCheck;
    if (!draft.file) { draw(); return; }
    draw({ checking: true });
    let found;
    try {
      found = { estimate: await sendFile(`${path}?dry_run=true`, draft.file) };
    } catch (error) {
      found = { error: error.status === 0 ? new Error("The service did not respond. Check the connection, then check the file again.") : error };
    }
    if (mine !== lastCheck || context.signal.aborted) return;
    draw(found);
    if (document.activeElement === document.body) shown.querySelector("button.main")?.focus();
  }

  async function take(file) {
    if (!file) return;
    if (file.size > MOST_BYTES) { refuse(`${file.name} has ${bytes(file.size)}. The limit is ${bytes(MOST_BYTES)}. Split the file.`); return; }
    const isTable = /\.csv$/i.test(file.name) || file.type === TABLE;
    try {
      // Reads the file now, so that the submitted content is the checked content even if the file changes.
      draft.file = { name: file.name, type: isTable ? TABLE : LINES, blob: new Blob([await file.arrayBuffer()]) };
    } catch {
      refuse(`${file.name} could not be read. Choose it again.`);
      return;
    }
    await check();
  }

  function refuse(message) {
    lastCheck += 1;
    draw({ error: new Error(message) });
  }

  function forget() {
    lastCheck += 1;
    draft.file = null;
    draw();
    chooser.focus();
  }

  async function begin(estimate, button) {
    if (button.disabled) return;
    button.disabled = true;
    button.classList.add("busy");
    const { file } = draft;
    try {
      const batch = await draft.submit(file, (headers) => sendFile(path, file, headers));
      draft.file = null;
      if (!context.signal.aborted) location.hash = `#/batches/${batch.batch_id}`;
    } catch (error) {
      // The estimate stays, so that the user can submit again.
      if (!context.signal.aborted) draw({ estimate, error });
    }
  }

  const offer = (estimate) => h("div", { class: "row wraps spread" },
    h("div", {}, h("div", { class: "small muted" }, "Price"), h("span", { class: "price" }, money(estimate.price)),
      h("div", { class: "small muted" }, `${money(estimate.available)} available. A failed image is not charged.`)),
    h("button", { class: "button main", type: "button", onclick: ({ currentTarget }) => begin(estimate, currentTarget) }, `Submit ${many(estimate.requests, "request")}`));

  const chosen = (file, more) => h("div", { class: "row wraps spread" },
    h("span", { class: "wrap" }, h("b", {}, file.name), h("span", { class: "muted" }, ` ${bytes(file.blob.size)}`)),
    h("span", { class: "row" }, more, h("button", { class: "button slim", type: "button", onclick: forget }, "Remove file")));

  function draw({ checking, estimate, error } = {}) {
    const { file } = draft;
    const count = error?.errors?.length;
    const reload = h("button", { class: "button slim", type: "button", onclick: check }, "Check again");
    fill(shown,
      file ? chosen(file, checking || estimate ? null : reload) : null,
      file?.left ? notice("warn", `${many(file.left, "failed request")} left out: the prompt or the input URLs were too long for the record and are no longer stored.`) : null,
      file?.formats ? notice("warn", `${many(file.formats, "failed request")} asked for a file format. Their images get the format of the backend instead.`) : null,
      checking ? h("p", { class: "muted" }, "Checking…") : null,
      error ? notice("bad", count ? "Nothing was submitted. Correct these errors in the file, and choose it again." : error.message) : null,
      count ? faults(error.errors) : null,
      estimate ? offer(estimate) : null);
    drop.hidden = Boolean(checking || estimate);
    spoken.textContent = checking ? "Checking…" : error ? (count ? many(count, "error") : error.message) : estimate ? `${many(estimate.requests, "request")}, ${money(estimate.price)}` : "";
  }

  const chooser = h("input", { class: "sr", type: "file", accept: KINDS, onchange: () => { take(chooser.files[0]); chooser.value = ""; } });
  const drop = h("label", { class: "drop", ondragover: (event) => { event.preventDefault(); drop.classList.add("over"); }, ondragleave: () => drop.classList.remove("over"),
    ondrop: (event) => { event.preventDefault(); drop.classList.remove("over"); take(event.dataTransfer.files[0]); } },
  chooser, h("b", {}, "Choose a file"), h("span", { class: "small" }, "CSV, or one JSON object per line. It is checked first, without charge."));
  draw();
  const node = h("section", { class: "card stack" }, h("h2", {}, "Submit a batch"), shown, drop, spoken,
    h("details", { class: "further" }, h("summary", {}, "What the file looks like"), h("div", { class: "stack" },
      h("p", { class: "small muted" }, "A table whose first row contains the field names:"), code(EXAMPLES.table),
      h("p", { class: "small muted" }, "Or lines of JSON:"), code(EXAMPLES.lines),
      h("p", { class: "small muted" }, "Each request has the fields of a generation call. custom_id is your own id for it. Tintype fetches input_images_urls when the job starts."))));
  return { node, check, begin: (file) => { draft.file = file; } };
}

export async function batches(main, context) {
  const failed = context.search.get("again");
  const form = context.canGenerate ? submitter(context) : null;
  if (form && failed && !context.returned) form.begin(await failedOf(failed, context));
  const list = listing({
    path: `${context.base}/batches`, context,
    show: (rows) => table(columns, rows, "Batches", (it) => it.batch_id),
    none: empty("No batches yet", context.canGenerate ? "Choose a file above, or submit one with an API key." : "Nothing has been submitted."),
  });
  fill(main, head("Batches", "Submit many requests at once. They are accepted together and charged per image."),
    h("div", { class: "stack" }, form?.node ?? null, list.node));
  form?.check();
  await list.begin();
  return list.load;
}
