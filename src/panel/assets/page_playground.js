// The playground: generates an image from a form and shows the call as code.
import { field, fill, form, h, fieldError, sentence } from "./dom.js";
import { get, parse, upload } from "./api.js";
import { duration, money } from "./format.js";
import { head } from "./shell.js";
import { code, notice } from "./dialogs.js";
import { inputImages, inputUrl } from "./input_images.js";
import { draftOf, submitOf } from "./drafts.js";
import { lightbox } from "./lightbox.js";
import { image, imageAt } from "./image.js";
import { preview } from "./preview.js";
import { pausedModel } from "./pause.js";
import { metadataOf } from "./page_job.js";
import { languages, snippet } from "./snippets.js";
import { idempotentSubmits } from "./idempotent_submit.js";
import { progressView } from "./progress.js";
import { tabs } from "./tabs.js";
import { demoNotice } from "./demo.js";

function shape(ratio) {
  const [width, height] = ratio.split(":").map(Number);
  const scale = 15 / Math.max(width, height);
  const drawn = h("i", { class: "shape", "aria-hidden": "true" });
  drawn.style.width = `${Math.max(width * scale, 3)}px`;
  drawn.style.height = `${Math.max(height * scale, 3)}px`;
  return drawn;
}

/** The most images per submit. */
const MOST = 4;
const RECENT = 12;
const EXAMPLES = ["A lighthouse on a cliff in a storm, oil painting", "A red fox in the snow at dusk, soft light", "Product photo of a ceramic cup on white marble"];

/** The exact price of `count` images, formatted as the API does, with up to six decimals. */
function totalPrice(price, count) {
  const [whole, part = ""] = price.split(".");
  const digits = String(BigInt(whole + part.padEnd(6, "0")) * BigInt(count)).padStart(7, "0");
  return `${digits.slice(0, -6)}.${digits.slice(-6).replace(/0{1,4}$/, "")}`;
}

const COMMON_RATIOS = ["1:1", "3:2", "2:3", "4:3", "16:9", "9:16"];

function choices(name, label, options, chosen, change, more = null) {
  return h("fieldset", { "data-field": name }, h("legend", { class: "legend" }, label),
    h("div", { class: "choices" }, options.map(({ value, text, mark, off }) => h("label", {},
      h("input", { type: "radio", name, value, checked: value === chosen, disabled: off, onchange: () => change(value) }),
      h("span", {}, mark ?? null, text ?? value))), more),
    h("span", { class: "fault small bad-text", hidden: true }));
}

/** `count` is 0 if no input image was ever stored. */
function deletedInputs(count) {
  if (!count) return "The job had input images, which are not stored. Add them again.";
  return count === 1 ? "The input image was deleted when the job ended. Add it again." : `The ${count} input images were deleted when the job ended. Add them again.`;
}

/** `null` if the job does not exist. */
async function jobOf(id, context) {
  if (!id) return null;
  try {
    return await get(`${context.base}/jobs/${encodeURIComponent(id)}`, context.signal);
  } catch (error) {
    if (error.status === 404) return null;
    throw error;
  }
}

export async function playground(main, context) {
  if (!context.canGenerate) {
    fill(main, head("Playground"), notice("warn", context.isActive ? "You have read-only access to this account, so you cannot generate images. Ask one of its owners." : "You cannot generate images while the account is deactivated."));
    return null;
  }
  const wanted = context.search.get("again");
  const [models, asked] = await Promise.all([get(`${context.base}/models`, context.signal), jobOf(wanted, context)]);
  const draft = draftOf(context.account.id);
  const isNew = asked && !context.returned;
  if (isNew) {
    draft.replace({ tier: asked.tier, prompt: asked.prompt ?? "", metadata: asked.metadata ? metadataOf(asked) : "", callback_url: asked.callback_url ?? "", aspect_ratio: asked.aspect_ratio, resolution: asked.resolution });
    draft.images.push(...asked.input_urls.map(inputUrl));
  }
  const kept = draft.read();
  const first = models.data.find((it) => it.id === kept.tier) ?? models.data.find((it) => !it.paused) ?? models.data[0];
  const state = { tier: first.id, ratio: kept.aspect_ratio ?? "1:1", resolution: kept.resolution ?? "1K", variants: kept.variants ?? "1", needsImages: Boolean(isNew && asked.mode === "image-to-image" && !draft.images.length) };
  const submit = submitOf(`playground of ${context.account.id}`, idempotentSubmits);
  /** The jobs on the stage, until all have ended. */
  let running = kept.jobs ?? [];

  const typed = ({ target }) => { draft.keep({ [target.name]: target.value }); drawExamples(); program.draw(); };
  const prompt = h("textarea", { name: "prompt", required: true, rows: 6, maxlength: models.max_prompt_chars, value: kept.prompt ?? "",
    placeholder: "A red fox in the snow at dusk, soft light", oninput: typed,
    onkeydown: (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); bench.requestSubmit(); } } });
  const metadata = h("textarea", { name: "metadata", class: "mono short", rows: 2, spellcheck: "false", placeholder: "{\"order\": 4711}",
    value: kept.metadata ?? "", oninput: typed });
  const callback = h("input", { name: "callback_url", type: "url", placeholder: "https://example.com/tintype", autocomplete: "off",
    value: kept.callback_url ?? "", oninput: typed });
  const examples = h("div", { class: "examples", role: "group", "aria-label": "Examples" });
  const options = h("div", { class: "stack" });
  const notes = h("div", { class: "stack" });
  const price = h("span", { class: "price" });
  const stage = h("div", { class: "stage" });
  // The stage is redrawn with each percent. Screen readers announce only changes of this text.
  const spoken = h("p", { class: "sr", role: "status" });
  const images = inputImages(models, draft.images, () => { if (images.count()) state.needsImages = false; draw(); });
  const program = tabs("Language of the code", languages, (language) => [
    images.files().length ? h("p", { class: "small muted" }, "Programs send input images as URLs. Replace each URL_OF_… with the URL of the file, from which the service fetches it.") : null,
    code(snippet(language, { tier: state.tier, body: body(images.named()) }, context.session.public_url))]);

  function drawExamples() {
    const take = (words) => { prompt.value = words; draft.keep({ prompt: words }); drawExamples(); program.draw(); prompt.focus(); };
    fill(examples, prompt.value ? null : EXAMPLES.map((it) => h("button", { class: "button slim", type: "button", onclick: () => take(it) }, it)));
  }

  /** The metadata as an object; `undefined` if the field holds none. */
  function parsedMetadata() {
    try {
      const read = parse(metadata.value);
      return read && typeof read === "object" && !Array.isArray(read) ? read : undefined;
    } catch { return undefined; }
  }

  function body(urls) {
    const made = { prompt: prompt.value || "a red fox in the snow", aspect_ratio: state.ratio };
    if (state.tier !== "fast" && state.resolution !== "1K") made.resolution = state.resolution;
    if (urls.length) made.input_images_urls = urls;
    if (callback.value.trim()) made.callback_url = callback.value.trim();
    if (parsedMetadata()) made.metadata = parsedMetadata();
    return made;
  }

  /** The request. The metadata is sent as typed, because its numbers may have more digits than JavaScript keeps. */
  function request() {
    if (state.needsImages) throw fieldError("input_images_urls", "Add the images, or continue without them.");
    const text = metadata.value.trim();
    if (text && !parsedMetadata()) throw fieldError("metadata", "Enter a JSON object, such as {\"order\": 4711}.");
    const { metadata: _, ...made } = { ...body(images.addresses()), prompt: prompt.value };
    const json = JSON.stringify(made);
    return text ? `${json.slice(0, -1)},"metadata":${text}}` : json;
  }

  function showEarlier() {
    fill(notes, demoNotice(context, [state.tier]),
      wanted && !asked ? notice("warn", "The job to run again does not exist.") : null,
      asked && asked.prompt === null ? notice("warn", "The prompt of the job was too long to store and is no longer available.") : null,
      asked && !models.data.some((it) => it.id === asked.tier) ? notice("warn", `The model ${asked.tier} of the job is not available.`) : null,
      state.needsImages ? notice("warn", h("div", { class: "row wraps spread" },
        h("span", {}, deletedInputs(asked.inputs.length)),
        h("button", { class: "button slim", type: "button", onclick: () => { state.needsImages = false; draw(); } }, "Continue without"))) : null);
  }

  const chosenModel = () => models.data.find((it) => it.id === state.tier);

  function draw() {
    const model = chosenModel();
    const { aspect_ratios: ratios, resolutions, prices, paused } = model;
    const all = ratios.filter((it) => it !== "auto" || images.count() || state.needsImages);
    if (!all.includes(state.ratio)) state.ratio = all.includes("1:1") ? "1:1" : all[0];
    // Other ratios than the common ones and the chosen one are behind "More".
    const shown = state.allRatios ? all : all.filter((it) => it === "auto" || it === state.ratio || COMMON_RATIOS.includes(it));
    if (!resolutions.includes(state.resolution)) state.resolution = resolutions[0];
    const choose = (name) => (value) => {
      state[name] = value;
      draft.keep({ tier: state.tier, aspect_ratio: state.ratio, resolution: state.resolution, variants: state.variants });
      draw();
      options.querySelector(`[name=${CSS.escape({ ratio: "aspect_ratio" }[name] ?? name)}]:checked`)?.focus();
      if (name === "tier") options.querySelector(".notice")?.scrollIntoView({ block: "nearest" });
    };
    fill(options,
      choices("tier", "Model", models.data.map((it) => ({ value: it.id, text: it.paused ? `${it.id} (paused)` : it.id })), state.tier, choose("tier")),
      paused ? notice("warn", `${pausedModel(model)} Choose another model, or try again later: your prompt is kept.`) : null,
      choices("aspect_ratio", "Aspect ratio", shown.map((it) => ({ value: it, mark: it === "auto" ? null : shape(it) })), state.ratio, choose("ratio"), shown.length < all.length || state.allRatios
        ? h("button", { class: "button quiet slim", type: "button", "aria-expanded": String(Boolean(state.allRatios)), onclick: () => { state.allRatios = !state.allRatios; draw(); options.querySelector("[aria-expanded]")?.focus(); } }, state.allRatios ? "Fewer" : "More") : null),
      resolutions.length > 1 ? choices("resolution", "Resolution", resolutions.map((it) => ({ value: it })), state.resolution, choose("resolution")) : null,
      choices("variants", "Variants", Array.from({ length: MOST }, (_, at) => ({ value: String(at + 1) })), state.variants, choose("variants")));
    fill(price, money(totalPrice(prices[state.resolution], Number(state.variants))));
    showEarlier();
    program.draw();
  }

  /** Images stay on the stage. An earlier failure does not, because it would pass for the reason of this rejection. */
  function showRejection(error) {
    if (!running.length && !stage.querySelector("img") && stage.querySelector(".notice.bad")) {
      draft.keep({ jobs: [] });
      showEmpty();
    }
    const reasons = (error.errors ?? []).map(({ message }) => sentence(message));
    // The alert of the form announces an error without a field.
    say([error.status === 0 ? "No response." : "Not accepted.", ...reasons].join(" "));
  }

  /** The page may have missed that a pause has begun or ended. */
  async function checkPause() {
    await reloadModels();
    if (chosenModel().paused) throw fieldError("tier", "Choose a model that is not paused.");
  }

  async function generate() {
    let text;
    try {
      text = request();
      if (chosenModel().paused) await checkPause();
    } catch (error) {
      showRejection(error);
      throw error;
    }
    const sent = new FormData();
    sent.append("request", text);
    for (const file of images.files()) sent.append("image", file);
    const before = [...stage.childNodes];
    waiting("Sending", null);
    stage.scrollIntoView({ block: "nearest" });
    const count = Number(state.variants);
    const { answers, error } = await submit(`${state.tier}\n${text}\n${images.mark()}`, count,
      (headers) => upload(`${context.base}/generations/${state.tier}`, sent, headers));
    if (!answers.length) {
      fill(stage, before);
      if (error.status === 503) {
        error.message = `${error.message} Your prompt is kept.`;
        reloadModels();
      }
      showRejection(error);
      throw error;
    }
    running = answers.map((it) => it.job_id);
    draft.keep({ jobs: running });
    waiting("Accepted", answers[0]);
    reload();
    if (error) throw Object.assign(error, { message: `${answers.length} of ${count} images were accepted. ${error.message}` });
  }

  const bench = form({ class: "card" }, generate,
    field("Prompt", prompt), examples, options, images.node,
    h("details", { class: "further", open: Boolean(metadata.value || callback.value) }, h("summary", {}, "Metadata and callback"), h("div", { class: "stack" },
      field("Metadata", metadata, "A JSON object, returned with the job and sent to the webhook."),
      field("Callback URL", callback, "A registered webhook to call instead of the default one."))),
    h("div", { class: "actions row wraps spread" }, h("div", {}, h("div", { class: "small muted" }, "Price"), price),
      h("button", { class: "button main", type: "submit" }, "Generate")));

  function say(words) {
    if (spoken.textContent !== words) spoken.textContent = words;
  }
  function waiting(title, job) {
    const paused = job?.status === "queued" ? pausedModel(models.data.find((it) => it.id === job.tier)) : null;
    say(title);
    fill(stage, h("div", { class: "empty" }, h("b", {}, title), paused ? h("p", {}, `${paused} The job waits until it is resumed.`) : null,
      job ? h("a", { href: `#/jobs/${job.job_id}` }, "Open job") : "One moment.", job ? preview(job, context.base) : null, progressView(job)));
  }
  function showEmpty() {
    fill(stage, h("div", { class: "empty" }, h("b", {}, "No image yet"), "Your image will appear here."));
  }

  function ended(job) {
    return job.status === "failed" ? h("div", { class: "stack" }, notice("bad", sentence(job.error)), h("p", { class: "muted" }, "Nothing was charged."))
      : h("div", { class: "stack" }, h("img", { class: "fade", src: imageAt(context.base, job.job_id, 1024), alt: `Image of: ${(job.prompt ?? "").slice(0, 200)}`, width: job.picture.width, height: job.picture.height, onerror: showEmpty }),
        h("p", { class: "muted small" }, `generated in ${duration(job.started_at, job.finished_at)}, ${money(job.price)} charged · `, h("a", { href: `#/jobs/${job.job_id}` }, "Details")));
  }

  /** Several jobs; a click on a done image opens the lightbox. */
  function several(jobs) {
    const done = jobs.filter((it) => it.status === "done");
    return h("div", { class: "several" }, jobs.map((job) => {
      if (job.status === "failed") return h("div", {}, notice("bad", sentence(job.error)));
      if (job.status !== "done") return h("div", {}, h("b", {}, job.status === "queued" ? "Queued" : "Generating…"), preview(job, context.base), progressView(job));
      return h("button", { type: "button", "data-key": job.job_id, "aria-label": `Show image ${jobs.indexOf(job) + 1}`, onclick: () => lightbox(done, done.indexOf(job), context) }, image(job, context.base, 512));
    }));
  }

  async function refreshStage() {
    if (!running.length) return;
    const of = running;
    const jobs = (await Promise.all(of.map((id) => jobOf(id, context)))).filter(Boolean);
    // A newer job has started meanwhile.
    if (of !== running) return;
    if (!jobs.length) { running = []; showEmpty(); return; }
    const haveEnded = jobs.every((it) => it.finished_at);
    if (haveEnded) running = [];
    if (of.length > 1) {
      const done = jobs.filter((it) => it.finished_at).length;
      say(haveEnded ? "Done" : `${done} of ${jobs.length} done`);
      fill(stage, several(jobs));
    } else if (haveEnded) {
      say(jobs[0].status === "failed" ? "Failed" : "Done");
      fill(stage, ended(jobs[0]));
    } else waiting(jobs[0].status === "queued" ? "Queued" : "Generating…", jobs[0]);
  }
  const reload = context.reloader(refreshStage);
  /** Pauses begin and end while the page is open. */
  const reloadModels = context.reloader(async () => {
    const { data } = await get(`${context.base}/models`, context.signal);
    if (JSON.stringify(data) === JSON.stringify(models.data)) return;
    models.data = data;
    draw();
    reload();
  });

  /** The newest images of the account; a click opens the lightbox. */
  const strip = h("ul", { class: "strip", "aria-label": "Recent images" });
  const recent = context.reloader(async () => {
    const { data } = await get(`${context.base}/jobs?limit=${RECENT}&status=done`, context.signal);
    fill(strip, data.map((job, at) => h("li", { "data-key": job.job_id }, h("button", { type: "button", "aria-label": `Show: ${(job.prompt ?? "a long prompt").slice(0, 80)}`, onclick: () => lightbox(data, at, context) },
      image(job, context.base, 256)))));
    recently.hidden = !data.length;
  });
  const recently = h("section", { class: "stack tight", hidden: true }, h("div", { class: "row spread" }, h("h2", {}, "Recent"), h("a", { href: "#/gallery" }, "Gallery")), strip);

  showEmpty();
  draw();
  drawExamples();
  if (running.length) await reload();
  fill(main, head("Playground", "Try a prompt. This creates a real job: it charges your balance and triggers your webhook."),
    h("div", { class: "stack" }, notes, h("div", { class: "bench" }, bench,
      h("div", { class: "stack" }, stage, spoken, recently, h("section", { class: "card" }, h("h2", {}, "Code"), program.node)))));
  recent();
  return () => { reload(); recent(); reloadModels(); };
}
