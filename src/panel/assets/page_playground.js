// The playground: a picture from a prompt, and the same call as a program.
import { field, fill, form, h } from "./dom.js";
import { get, upload } from "./api.js";
import { bytes, duration, money } from "./format.js";
import { head } from "./shell.js";
import { code, notice } from "./dialogs.js";
import { icon } from "./icons.js";
import { languages, snippet } from "./snippets.js";
import { develop } from "./progress.js";

/** What the next visit begins with. */
let begun = {};
export const draft = (request) => { begun = request; };

/** A small drawing of a ratio. */
function shape(ratio) {
  const [width, height] = ratio.split(":").map(Number);
  const scale = 15 / Math.max(width, height);
  const drawn = h("i", { class: "shape", "aria-hidden": "true" });
  drawn.style.width = `${Math.max(width * scale, 3)}px`;
  drawn.style.height = `${Math.max(height * scale, 3)}px`;
  return drawn;
}

function choices(name, label, options, chosen, change) {
  return h("fieldset", { "data-field": name }, h("legend", { class: "legend" }, label),
    h("div", { class: "choices" }, options.map(({ value, text, mark, off }) => h("label", {},
      h("input", { type: "radio", name, value, checked: value === chosen, disabled: off, onchange: () => change(value) }),
      h("span", {}, mark ?? null, text ?? value)))),
    h("span", { class: "fault", hidden: true }));
}

export async function playground(main, context) {
  const models = await get(`${context.base}/models`, context.signal);
  const asked = begun;
  begun = {};
  const first = models.data.find((it) => it.id === asked.tier) ?? models.data.find((it) => !it.paused) ?? models.data[0];
  const state = { tier: first.id, ratio: asked.ratio ?? "1:1", resolution: asked.resolution ?? "1K", inputs: [] };
  let running = null;

  const prompt = h("textarea", { name: "prompt", required: true, rows: 6, maxlength: models.max_prompt_chars, value: asked.prompt ?? "",
    placeholder: "A red fox in the snow at dusk, soft light", oninput: () => tell() });
  const options = h("div", { class: "stack" });
  const inputs = h("ul", { class: "inputs" });
  const price = h("span", { class: "price" });
  const stage = h("div", { class: "stage", "aria-live": "polite" });
  const program = h("div", { class: "stack tight" });
  let language = languages[0];

  const model = () => models.data.find((it) => it.id === state.tier);
  const body = (files = false) => {
    const made = { prompt: prompt.value || "a red fox in the snow", aspect_ratio: state.ratio };
    if (state.tier !== "fast" && state.resolution !== "1K") made.resolution = state.resolution;
    const urls = state.inputs.filter((it) => it.url || !files).map((it) => it.url ?? `https://example.com/${encodeURIComponent(it.file.name)}`);
    if (urls.length) made.input_images_urls = urls;
    return made;
  };

  function tell() {
    const tab = (name) => h("button", { type: "button", role: "tab", "aria-selected": String(name === language), onclick: () => { language = name; tell(); } }, name);
    fill(program, h("div", { class: "tabs", role: "tablist" }, languages.map(tab)),
      code(snippet(language, { tier: state.tier, body: body() }, context.session.public_url)));
  }

  function draw() {
    const { aspect_ratios: ratios, resolutions, prices, paused, paused_reason: reason } = model();
    const all = ratios.filter((it) => it !== "auto" || state.inputs.length);
    if (!all.includes(state.ratio)) state.ratio = all.includes("1:1") ? "1:1" : all[0];
    if (!resolutions.includes(state.resolution)) state.resolution = resolutions[0];
    const turn = (name) => (value) => {
      state[name] = value;
      draw();
      options.querySelector(`[name=${CSS.escape({ tier: "tier", ratio: "aspect_ratio", resolution: "resolution" }[name])}]:checked`)?.focus();
    };
    fill(options,
      choices("tier", "Model", models.data.map((it) => ({ value: it.id, text: it.paused ? `${it.id} (paused)` : it.id })), state.tier, turn("tier")),
      choices("aspect_ratio", "Aspect ratio", all.map((it) => ({ value: it, mark: it === "auto" ? null : shape(it) })), state.ratio, turn("ratio")),
      resolutions.length > 1 ? choices("resolution", "Resolution", resolutions.map((it) => ({ value: it })), state.resolution, turn("resolution")) : null,
      paused ? notice("warn", `The ${state.tier} model is paused${reason ? ` (${reason})` : ""}: a request is answered with 503.`) : null);
    fill(price, money(prices[state.resolution]));
    fill(inputs, state.inputs.map((it, at) => h("li", {},
      it.file ? h("img", { src: it.preview, alt: "" }) : null, h("span", { title: it.url ?? it.file.name }, it.url ?? `${it.file.name}, ${bytes(it.file.size)}`),
      h("button", { class: "icon", type: "button", "aria-label": "Remove", onclick: () => { if (it.preview) URL.revokeObjectURL(it.preview); state.inputs.splice(at, 1); draw(); } }, icon("close", 15)))));
    tell();
  }

  function add(files) {
    for (const file of files) {
      if (state.inputs.length < models.max_inputs) state.inputs.push({ file, preview: URL.createObjectURL(file) });
    }
    draw();
  }

  const chooser = h("input", { class: "sr", type: "file", multiple: true, accept: "image/png,image/jpeg,image/webp,image/gif,image/heic,image/avif", onchange: () => { add(chooser.files); chooser.value = ""; } });
  const drop = h("label", { class: "drop", ondragover: (event) => { event.preventDefault(); drop.classList.add("over"); }, ondragleave: () => drop.classList.remove("over"),
    ondrop: (event) => { event.preventDefault(); drop.classList.remove("over"); add(event.dataTransfer.files); } },
  chooser, h("b", {}, "Choose images"), h("span", { class: "small" }, `or drop them here, up to ${models.max_inputs}`));
  const address = h("input", { type: "url", placeholder: "https://example.com/fox.png", "aria-label": "Address of an input image", autocomplete: "off",
    onkeydown: (event) => { if (event.key === "Enter") { event.preventDefault(); addAddress(); } } });
  function addAddress() {
    const url = address.value.trim();
    if (url && state.inputs.length < models.max_inputs) { state.inputs.push({ url }); address.value = ""; draw(); }
    address.focus();
  }

  const bench = form({ class: "card" }, async () => {
    const sent = new FormData();
    const request = body(true);
    request.prompt = prompt.value;
    sent.append("request", JSON.stringify(request));
    for (const it of state.inputs) if (it.file) sent.append("image", it.file);
    waiting("Sending", null);
    stage.scrollIntoView({ block: "nearest" });
    try {
      const made = await upload(`${context.base}/generations/${state.tier}`, sent);
      running = made.job_id;
      await look();
    } catch (error) {
      rest();
      throw error;
    }
  },
  field("Prompt", prompt), options,
  h("div", { class: "field", "data-field": "input_images_urls" }, h("span", { class: "legend" }, "Input images"), inputs, drop,
    h("div", { class: "row" }, address, h("button", { class: "button", type: "button", onclick: addAddress }, "Add")), h("span", { class: "fault", hidden: true })),
  h("div", { class: "actions row spread" }, h("div", {}, h("div", { class: "small muted" }, "Price"), price),
    h("button", { class: "button main", type: "submit" }, "Make it")));

  const waiting = (title, job) => fill(stage, h("div", { class: "empty" }, h("b", {}, title), job ? h("a", { href: `#/jobs/${job.job_id}` }, "The job") : "One moment.", develop(job)));
  const rest = () => fill(stage, h("div", { class: "empty" }, h("b", {}, "Nothing here yet"), "Say what to show, and the picture develops here."));

  async function look() {
    if (!running) return;
    const job = await get(`${context.base}/jobs/${running}`, context.signal);
    if (job.status === "queued") waiting("In the queue", job);
    else if (job.status === "processing") waiting("Developing", job);
    else {
      running = null;
      fill(stage, job.status === "failed" ? h("div", { class: "stack" }, notice("bad", job.error), h("p", { class: "muted" }, "Nothing was charged."))
        : h("div", { class: "stack" }, h("img", { class: "fade", src: `/panel/api${context.base}/jobs/${job.job_id}/picture`, alt: `The picture of: ${(job.prompt ?? "").slice(0, 200)}`, width: job.picture.width, height: job.picture.height }),
          h("p", { class: "muted small" }, `made in ${duration(job.started_at, job.finished_at)}, ${money(job.price)} charged · `, h("a", { href: `#/jobs/${job.job_id}` }, "details"))));
    }
  }

  if (!context.canChange) {
    fill(main, head("Playground"), notice("warn", "You may look at this account but not make pictures on it. Ask one of its owners."));
    return null;
  }
  rest();
  draw();
  fill(main, head("Playground", "Try a prompt. It is a real job: it is paid from the balance and told to the webhook."),
    h("div", { class: "bench" }, bench, h("div", { class: "stack" }, stage, h("section", { class: "card" }, h("h2", {}, "The same as a program"), program))));
  return look;
}
