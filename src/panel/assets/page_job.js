// One job: its image, request, timeline and deliveries.
import { fill, h, sentence } from "./dom.js";
import { get, remove } from "./api.js";
import { bytes, duration, moment, money, shortId } from "./format.js";
import { head } from "./shell.js";
import { code, copyIcon, copyable, dialog, notice } from "./dialogs.js";
import { refund } from "./funds.js";
import { star } from "./favourite.js";
import { lightbox } from "./lightbox.js";
import { imageAt, missing } from "./image.js";
import { preview } from "./preview.js";
import { deliveryList } from "./page_deliveries.js";
import { pausedModel } from "./pause.js";
import { progressView } from "./progress.js";
import { isCanceled, jobBadge } from "./page_jobs.js";

const step = (kind, title, at, note) => h("li", { class: kind }, h("b", {}, title),
  at ? h("div", {}, h("time", { datetime: at, title: at }, moment(at))) : null, note ? h("div", { class: "small muted" }, note) : null);

function timeline(job) {
  const { created_at: created, started_at: started, finished_at: finished } = job;
  return h("ol", { class: "timeline" },
    step("good", "Accepted", created, `${money(job.price)} reserved`),
    started ? step(finished ? "good" : "busy", "Started", started, `after ${duration(created, started)} in the queue`)
      : job.status === "queued" ? step("busy", "Queued") : null,
    job.status === "processing" ? step("busy", "Processing…") : null,
    job.status === "done" ? step("good", "Done", finished, `generated in ${duration(started, finished)}, ${money(job.price)} charged`) : null,
    job.status === "failed" ? step(isCanceled(job) ? "" : "bad", isCanceled(job) ? "Canceled" : "Failed", finished, `${money(job.price)} released, nothing charged`) : null);
}

export const pairs = (...entries) => h("dl", { class: "pairs" },
  entries.filter((it) => it && it[1] !== null && it[1] !== undefined).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));

const keeping = (job) => (job.favourite ? ", kept: a favourite" : job.kept_until ? [", kept until ", h("time", { datetime: job.kept_until, title: job.kept_until, class: "nowrap" }, moment(job.kept_until))] : "");

/** Asks, then deletes the image. */
const deleteImage = (job, context) => dialog({ title: "Delete this image?", success: "Deleted", confirm: "Delete", danger: true,
  text: "The image and its thumbnails are deleted for everyone, and its URLs stop working. The job and its charge stay on record. Backups keep their copy until they are removed.",
  submit: () => remove(`${context.base}/jobs/${job.job_id}/picture`) });

/** Asks, then erases the content. */
const eraseJob = (job, context) => dialog({ title: "Erase the content of this job?", success: "Erased", confirm: "Erase", danger: true,
  text: "The prompt, the metadata, the callback, the input URLs, the image, and what the deliveries have sent and received are deleted for everyone. The job and its charge stay on record. Backups keep their copy until they are removed.",
  submit: () => remove(`${context.base}/jobs/${job.job_id}/content`) });

/** The prompt of a job in a sentence. */
const named = ({ prompt }) => (prompt ? `“${prompt.slice(0, 200)}${prompt.length > 200 ? "…" : ""}”` : "A job with a long prompt");

/** Asks, then cancels a queued job of the account at `base`. Resolves to whether it was canceled. `whose` names the account if the page shows several. */
export const cancelJob = (job, base, whose) => dialog({ title: "Cancel this job?", success: "Canceled", confirm: "Cancel job", dismiss: "Keep job", danger: true,
  text: `${named(job)}${whose ? ` of ${whose}` : ""}. The reserved ${money(job.price)} is released${sendsWebhook(job) ? ", and the webhook is called" : ""}.`,
  submit: () => remove(`${base}/jobs/${job.job_id}`) });

/** The width of the view of an image on the page, in pixels. */
const SHOWN_WIDTH = 1024;

/** `model` is the model of a queued job. */
function stage(job, model, context, reload) {
  const address = imageAt(context.base, job.job_id);
  if (job.image_deleted) return h("div", { class: "stage" }, h("div", { class: "empty" }, h("b", {}, "The image was deleted"), "The job and its charge stay on record."));
  if (job.status === "done") {
    const { width, height } = job.picture;
    const image = h("img", { src: imageAt(context.base, job.job_id, SHOWN_WIDTH), alt: `Image of: ${(job.prompt ?? "a long prompt").slice(0, 200)}`, width, height,
      onerror: (event) => event.target.replaceWith(missing(event.target.src)) });
    // Before the image has arrived too, so that the buttons below it do not move under the pointer.
    image.style.width = `min(100%, ${70 * width / height}vh, ${Math.min(width, SHOWN_WIDTH)}px)`;
    return h("div", { class: "stack" },
      h("button", { class: "stage", type: "button", "aria-label": "Show large", onclick: () => lightbox([job], 0, context, reload) }, image),
      h("div", { class: "row wraps spread" }, h("span", { class: "muted small" }, `${width} × ${height}, ${bytes(job.picture.bytes)}`, keeping(job)),
        h("div", { class: "row" },
          h("a", { class: "button slim", href: address, download: true }, "Download"),
          context.canChange ? h("button", { class: "button slim danger", type: "button", onclick: () => deleteImage(job, context).then(reload) }, "Delete image…") : null)));
  }
  if (job.status === "failed") return h("div", { class: "stack" }, isCanceled(job) ? null : notice("bad", sentence(job.error)), h("div", { class: "stage" }, h("div", { class: "empty" }, h("b", {}, "No image"), "Nothing was charged.")));
  const paused = pausedModel(model);
  return h("div", { class: "stage" }, h("div", { class: "empty" }, h("b", {}, job.status === "queued" ? "Queued" : "Generating…"),
    preview(job, context.base), paused ? [paused, " The job waits until it is resumed."] : "The image appears here as soon as it is ready.", progressView(job)));
}

const keyOf = (job) => (job.key ? h("a", { href: `#/keys/${job.key_id}` }, job.key.name, " ", h("code", {}, `${job.key.prefix}…`))
  : ["deleted ", shortId(job.key_id)]);

/** The error of each backend, for the operator. */
const causes = (job) => (job.causes?.length ? h("section", { class: "card" }, h("h2", {}, "Cause"),
  h("ul", { class: "stack lines" }, job.causes.map((it) => h("li", {}, h("b", {}, it.backend), h("div", { class: "wrap" }, it.message),
    h("time", { class: "small muted", datetime: it.at, title: it.at }, moment(it.at)))))) : null);

/** Jobs of a batch send none. The caller of a synchronous job waits for the result, and that of a background job looks it up. */
const sendsWebhook = (job) => !job.batch_id && job.origin === "native";

/** Why a job has no delivery. */
function noDelivery(job) {
  if (job.batch_id) return ["Jobs of a batch send no webhook. The ", h("a", { href: `#/batches/${job.batch_id}` }, "batch"), " sends one when it ends."];
  if (job.origin === "synchronous") return "No webhook is called, because the caller waits for the result.";
  if (job.origin === "background") return "No webhook is called, because the caller polls for the result.";
  return job.finished_at ? "No webhook was called: none was registered when the job ended." : "The webhook is called when the job ends.";
}

export const metadataOf = (job) => JSON.stringify(job.metadata, null, 2);

export async function job(main, context) {
  const id = encodeURIComponent(context.rest[0]);
  const reload = context.reloader(() => draw());
  const { ready, show } = deliveryList(context, reload, true);
  const draw = async () => {
    const [found, sent] = await Promise.all([
      get(`${context.base}/jobs/${id}`, context.signal), get(`${context.base}/deliveries?job_id=${id}`, context.signal)]);
    await ready(sent.data);
    const models = found.status === "queued" ? await get(`${context.base}/models`, context.signal) : null;
    const model = models?.data.find((it) => it.id === found.tier);
    const cancel = () => cancelJob(found, context.base).then(reload);
    const prompt = h("p", { class: "words" }, found.prompt ?? "The prompt was erased, or it was long and is no longer available.");
    fill(main, head(h("span", { class: "row wraps" }, "Job", jobBadge(found)), copyable(found.job_id, "the job id"),
      found.image_deleted ? null : star(found, context, reload),
      found.status === "queued" && context.canChange ? h("button", { class: "button danger", type: "button", onclick: cancel }, "Cancel") : null,
      found.refundable ? h("button", { class: "button", type: "button", onclick: () => refund(found).then(reload) }, "Refund…") : null,
      found.finished_at && context.session.kind === "operator"
        ? h("button", { class: "button danger", type: "button", onclick: () => eraseJob(found, context).then(reload) }, "Erase content…") : null,
      context.canGenerate ? h("a", { class: "button", href: `#/playground?again=${id}` }, "Run again") : null),
    h("div", { class: "job-view" },
      h("div", { class: "stack" }, stage(found, model, context, reload),
        h("section", { class: "card" }, h("div", { class: "row spread" }, h("h2", {}, "Prompt"), found.prompt ? copyIcon(prompt, "the prompt") : null), prompt)),
      h("div", { class: "stack" },
        causes(found),
        h("section", { class: "card" }, h("h2", {}, "Timeline"), timeline(found)),
        h("section", { class: "card" }, h("h2", {}, "Request"), pairs(
          ["Model", found.tier], ["Resolution", found.resolution],
          ["Aspect ratio", found.aspect_ratio === found.ratio ? found.ratio : `${found.aspect_ratio} → ${found.ratio}`],
          ["Interface", found.origin], ["Price", money(found.price)], ["Refunded", found.refunded ? money(found.refunded) : null], ["Key", keyOf(found)],
          ["Callback", found.callback_url], ["Backend", found.picture?.backend],
          ["Batch", found.batch_id ? [h("a", { href: `#/batches/${found.batch_id}` }, shortId(found.batch_id)), ` as ${found.custom_id}`] : null],
          ["Input URLs", found.input_urls.length ? h("ol", { class: "stack tight" }, found.input_urls.map((it, at) => h("li", { class: "wrap" }, found.input_urls.length > 1 ? h("span", { class: "muted" }, `[${at}] `) : null, it))) : null],
          ["Inputs", found.inputs.length ? found.inputs.map((it) => `${it.width} × ${it.height} (${bytes(it.bytes)})`).join(", ") : null])),
        found.metadata ? h("section", { class: "card" }, h("h2", {}, "Metadata"), code(metadataOf(found))) : null)),
    h("section", { class: "stack after" }, h("h2", {}, "Deliveries"),
      sent.data.length && !found.batch_id ? null : h("p", { class: "muted" }, noDelivery(found)),
      sent.data.length ? h("div", { class: "sheet" }, sent.data.map(show)) : null));
  };
  await draw();
  return reload;
}
