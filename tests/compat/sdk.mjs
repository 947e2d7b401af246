#!/usr/bin/env node
// Drives the JavaScript SDKs @google/genai and openai against a running server (see served.py): images, streams and
// errors. NODE_PATH must contain the SDKs.

import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const { GoogleGenAI, ApiError } = require("@google/genai");
const OpenAI = require("openai").default;
const { TINTYPE_URL: url, TINTYPE_KEY: key, TINTYPE_ADMIN_TOKEN: token } = process.env;
let passed = 0;
let failed = 0;

function check(what, holds) {
  if (holds) passed += 1;
  else {
    failed += 1;
    console.log(`FAILED ${what}`);
  }
}

async function pause(fast) {
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const body = JSON.stringify({ project: false, tiers: { fast, quality: false, pro: false } });
  const answer = await fetch(`${url}/admin/v1/pause`, { method: "PUT", headers, body });
  if (!answer.ok) throw new Error(`pausing: ${answer.status}`);
}

const gemini = (apiKey = key, options = {}) =>
  new GoogleGenAI({ apiKey, httpOptions: { baseUrl: url, ...options } });

// Width and height from the header of a PNG.
function size(bytes) {
  const buffer = Buffer.from(bytes);
  if (buffer.toString("latin1", 1, 4) !== "PNG") throw new Error("no PNG");
  return `${buffer.readUInt32BE(16)}x${buffer.readUInt32BE(20)}`;
}

const opened = (answer) => size(Buffer.from(answer.data, "base64"));

// A minimal PNG of a size: only its header is measured.
async function png(aspectRatio) {
  const config = { imageConfig: { aspectRatio } };
  const answer = await gemini().models.generateContent({ model: "fast", contents: "red", config });
  return answer.data;
}

async function geminiImages() {
  for (const apiVersion of [undefined, "v1", "v1beta", "v1alpha"]) {
    const answer = await gemini(key, { apiVersion }).models.generateContent({ model: "fast", contents: "a red fox" });
    check(`an image under ${apiVersion}`, opened(answer) === "1024x1024");
    check("it stops", answer.candidates[0].finishReason === "STOP");
    check("its usage", answer.usageMetadata.totalTokenCount > 0 && answer.modelVersion === "fast");
  }
  const config = {
    responseModalities: ["TEXT", "IMAGE"],
    systemInstruction: "in ink",
    imageConfig: { aspectRatio: "16:9", imageSize: "2K" },
  };
  const large = await gemini().models.generateContent({ model: "gemini-3-pro-image", contents: "a red fox", config });
  check("shape and size", opened(large) === "2752x1536");
  check("a text", large.text.length > 0);
  const data = await png("16:9");
  const contents = [{ text: "make it blue" }, { inlineData: { mimeType: "image/png", data } }];
  const edited = await gemini().models.generateContent({ model: "gemini-3-pro-image", contents });
  check("the shape of the input", opened(edited) === "1376x768");
  const chat = gemini().chats.create({ model: "gemini-3.1-flash-image" });
  await chat.sendMessage({ message: "a red fox" });
  check("a second turn", opened(await chat.sendMessage({ message: "with a hat" })) === "1024x1024");
}

async function streams() {
  const config = { responseModalities: ["TEXT", "IMAGE"] };
  const chunks = [];
  const stream = await gemini().models.generateContentStream({ model: "fast", contents: "a red fox", config });
  for await (const chunk of stream) chunks.push(chunk);
  check("two chunks", chunks.length === 2 && chunks[0].text.length > 0);
  check("a streamed image", opened(chunks[1]) === "1024x1024");
  check("the end", chunks[1].candidates[0].finishReason === "STOP");
}

async function models() {
  const names = [];
  for await (const model of await gemini().models.list({ config: { pageSize: 2 } })) names.push(model.name);
  check("all models, page by page", names.length === 9 && names.includes("models/gemini-3-pro-image"));
  const model = await gemini().models.get({ model: "gemini-3-pro-image" });
  check("a model", model.name === "models/gemini-3-pro-image");
  const tokens = await gemini().models.countTokens({ model: "fast", contents: "a red fox in the snow" });
  check("tokens", tokens.totalTokens === 6);
}

const make = (client, model = "fast", config = {}) => client.models.generateContent({ model, contents: "a fox", config });

async function refused(what, code, status, call) {
  try {
    await call();
    check(`${what} is refused`, false);
  } catch (error) {
    const told = error instanceof ApiError ? JSON.parse(error.message).error : {};
    check(`${what}: ${error.status} ${error.message}`, error.status === code && told.status === status);
  }
}

async function refusals() {
  const { TINTYPE_KEY_FAST: scoped, TINTYPE_KEY_POOR: poor } = process.env;
  const large = { imageConfig: { imageSize: "4K" } };
  await refused("a bad key", 400, "INVALID_ARGUMENT", () => make(gemini("bad")));
  await refused("a size", 400, "INVALID_ARGUMENT", () => make(gemini(), "fast", large));
  await refused("another model", 403, "PERMISSION_DENIED", () => make(gemini(scoped), "pro"));
  await refused("no model", 404, "NOT_FOUND", () => make(gemini(), "gemini-1.0-pro"));
  await refused("no money", 429, "RESOURCE_EXHAUSTED", () => make(gemini(poor)));
  const hurried = gemini(key, { headers: { "X-Server-Timeout": "0.001" } });
  await refused("no time", 504, "DEADLINE_EXCEEDED", () => make(hurried, "pro", large));
  await pause(true);
  await refused("paused", 503, "UNAVAILABLE", () => make(gemini()));
  await pause(false);
  const stray = gemini(key, { baseUrl: `${url}/api` });
  const said = await make(stray).catch((error) => error.message);
  check(`a path in the base URL: ${said}`, String(said).includes("without /api and without a version"));
}

async function images() {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key });
  const opened = (answer) => size(Buffer.from(answer.data[0].b64_json, "base64"));
  const made = await client.images.generate({ model: "pro", prompt: "a red fox", size: "1536x1024" });
  check("an image of OpenAI's", opened(made) === "1264x848");
  const urls = await client.images.generate({ model: "fast", prompt: "a red fox", n: 2, response_format: "url" });
  check("two URLs", urls.data.length === 2);
  const file = await fetch(urls.data[0].url);
  check("a URL opens", size(await file.arrayBuffer()) === "1024x1024");
  const input = Buffer.from(await png("9:16"), "base64");
  const image = await OpenAI.toFile(input, "in.png", { type: "image/png" });
  check("an edit", opened(await client.images.edit({ model: "pro", prompt: "make it blue", image })) === "768x1376");
  const several = [image, await OpenAI.toFile(input, "b.png", { type: "image/png" })];
  const both = await client.images.edit({ model: "fast", prompt: "both", image: several });
  check("an edit of several", both.data.length === 1);
  const ids = [];
  for await (const model of client.models.list()) ids.push(model.id);
  check("the models", ids.length === 9);
}

async function formatsAndStreams() {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key });
  const starts = { png: "\x89PNG", jpeg: "\xff\xd8\xff", webp: "RIFF" };
  const isFormat = (data, name) => Buffer.from(data, "base64").toString("latin1").startsWith(starts[name]);
  const image = await OpenAI.toFile(Buffer.from(await png("1:1"), "base64"), "in.png", { type: "image/png" });
  for (const output_format of ["png", "jpeg", "webp"]) {
    const options = { model: "fast", prompt: "a fox", output_format };
    const made = await client.images.generate(options);
    check(`an image in ${output_format}`, isFormat(made.data[0].b64_json, output_format));
    check("its format", made.output_format === output_format);
    const calls = [
      ["image_generation.completed", client.images.generate({ ...options, stream: true, partial_images: 3 })],
      ["image_edit.completed", client.images.edit({ ...options, image, stream: true })],
    ];
    for (const [type, call] of calls) {
      const events = [];
      for await (const event of await call) events.push(event);
      check(`one event ${type}`, events.length === 1 && events[0].type === type);
      check("its image", isFormat(events[0].b64_json, output_format) && events[0].output_format === output_format);
      check("its usage", events[0].usage.total_tokens > 0 && events[0].created_at > 0 && events[0].quality === "auto");
    }
  }
  const several = { model: "fast", prompt: "a fox", n: 2, stream: true };
  const refusal = await client.images.generate(several).catch((error) => error);
  check("several images are refused", refusal instanceof OpenAI.BadRequestError && refusal.param === "n");
}

// The Responses API: synchronous, streamed and in the background.
async function responses() {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key });
  const tools = [{ type: "image_generation", size: "1536x1024" }];
  const opened = (response) => size(Buffer.from(response.output[0].result, "base64"));
  const make = (options) => client.responses.create({ model: "pro", input: "a red fox", tools, ...options });
  const ended = async (response) => {
    while (["queued", "in_progress"].includes(response.status)) {
      await new Promise((resolve) => setTimeout(resolve, 200));
      response = await client.responses.retrieve(response.id);
    }
    return response;
  };
  const fox = await make({ metadata: { kind: "fox" } });
  check("a response", fox.status === "completed" && opened(fox) === "1264x848");
  check("its members", fox.metadata.kind === "fox" && fox.output_text === "" && fox.usage.total_tokens > 0);
  const blue = await make({ input: "make it blue", previous_response_id: fox.id, background: true });
  check("in the background", blue.background && ["queued", "in_progress"].includes(blue.status));
  const done = await ended(blue);
  check("an edit", done.output[0].action === "edit" && opened(done) === "1264x848");
  const input = [{ role: "user", content: "a red fox" }, ...done.output, { role: "user", content: "with a hat" }];
  check("a second turn", opened(await make({ input, tools: [{ type: "image_generation" }] })) === "1264x848");
  check("a canceled response stays done", (await client.responses.cancel(blue.id)).status === "completed");
  const events = [];
  for await (const event of await make({ stream: true })) events.push(event);
  check("numbered events", events.every((event, at) => event.sequence_number === at) && events.length === 8);
  check("the last event", events[7].type === "response.completed" && opened(events[7].response) === "1264x848");
  const stream = client.responses.stream({ model: "fast", input: "a red fox", tools });
  check("a stream of the SDK", (await stream.finalResponse()).output[0].result.length > 0);
  const text = await make({ tools: undefined }).catch((error) => error);
  check("a text is refused", text instanceof OpenAI.BadRequestError && text.param === "tools");
  const unknown = await client.responses.retrieve("resp_x").catch((error) => error);
  check("an unknown response is not found", unknown instanceof OpenAI.NotFoundError);
}

async function imageAtAUrl() {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key });
  const options = { model: "pro", prompt: "a red fox", size: "1536x1024", response_format: "url" };
  const made = await client.images.generate(options);
  const fileData = { fileUri: made.data[0].url, mimeType: "image/png" };
  const contents = [{ text: "make it blue" }, { fileData }];
  const answer = await gemini().models.generateContent({ model: "gemini-3-pro-image", contents });
  check("the shape of an image at a URL", opened(answer) === "1264x848");
}

async function interactions() {
  const api = gemini().interactions;
  const fast = { model: "fast", input: "a red fox" };
  const side = (interaction) => size(Buffer.from(interaction.output_image.data, "base64"));
  const response_format = { type: "image", aspect_ratio: "16:9", image_size: "2K" };
  const first = await api.create({ model: "pro", input: "a red fox", response_format });
  check("an interaction", first.status === "completed" && side(first) === "2752x1536");
  check("its usage", first.usage.total_tokens > 0 && first.model === "pro");
  const second = await api.create({ model: "pro", input: "with a hat", previous_interaction_id: first.id });
  check("the shape of the previous one", side(second) === "1376x768" && side(await api.get(second.id)) === "1376x768");
  const input = [{ type: "text", text: "make it blue" }, { type: "image", data: await png("9:16") }];
  check("an input image", side(await api.create({ model: "pro", input })) === "768x1376");
  const started = await api.create({ ...fast, background: true });
  let ended = started;
  while (ended.status === "in_progress") {
    await new Promise((resolve) => setTimeout(resolve, 100));
    ended = await api.get(started.id);
  }
  check("a background interaction", started.status === "in_progress" && side(ended) === "1024x1024");
  check("a cancellation after the end", (await api.cancel(started.id)).status === "completed");
  const events = [];
  for await (const event of await api.create({ ...fast, stream: true })) events.push(event);
  const images = events.filter((it) => it.event_type === "step.delta" && it.delta.type === "image");
  check("a stream", images.length === 1 && events.at(-1).interaction.status === "completed");
  await api.delete(started.id);
  const gone = await api.get(started.id).catch((error) => error);
  check(`a deleted interaction: ${gone}`, gone.status === 404 && gone.message.includes("no longer stored"));
  const agent = await api.create({ agent: "a", input: "a" }).catch((error) => error);
  check(`an agent: ${agent}`, agent.status === 400 && agent.message.includes("agent is not supported"));
}

await interactions();

// Failures that only a backend can cause. Meanwhile a slow stream holds the only slot.
async function frail() {
  const { TINTYPE_FRAIL_URL: baseUrl, TINTYPE_FRAIL_KEY: apiKey } = process.env;
  const client = new GoogleGenAI({ apiKey, httpOptions: { baseUrl } });
  const ask = (contents) => client.models.generateContent({ model: "fast", contents });
  await refused("garbage of a backend", 500, "INTERNAL", () => ask("garbage"));
  const chunks = [];
  const chat = client.chats.create({ model: "fast" });
  const slow = (async () => {
    while (!chunks.length) {
      try {
        for await (const chunk of await chat.sendMessageStream({ message: "slow" })) chunks.push(chunk);
      } catch (error) {
        // A request below had the only slot.
        if (error.status !== 503) throw error;
      }
    }
  })();
  // Until the stream has created its job, this request gets the slot, and its image is generated.
  for (let full = false; !full; ) full = await ask("a fox").then(() => false, () => true);
  await refused("no capacity", 503, "UNAVAILABLE", () => ask("a fox"));
  const ofOpenAi = new OpenAI({ baseURL: `${baseUrl}/v1`, apiKey, maxRetries: 0 });
  const error = await ofOpenAi.images.generate({ model: "fast", prompt: "a fox" }).catch((error) => error);
  check("no capacity in OpenAI's words", error.status === 503 && error.code === "unavailable");
  await slow;
  check("a slow stream has only its image", chunks.length === 1 && opened(chunks[0]) === "64x64");
  // The backend makes smaller images of images.
  check("its chat sends the image again", opened(await chat.sendMessage({ message: "with a hat" })) === "32x32");
  const events = [];
  const read = async (prompt) => {
    const stream = await ofOpenAi.images.generate({ model: "fast", prompt, stream: true });
    for await (const event of stream) events.push(event);
  };
  await read("slow");
  check("a slow stream of OpenAI's", events.length === 1 && events[0].type === "image_generation.completed");
  const raised = await read("slow garbage").catch((error) => error);
  check(`an error in a stream is raised: ${raised}`, raised instanceof OpenAI.APIError && raised.type === "server_error");
}

async function refusalsOfOpenAi() {
  const { TINTYPE_KEY_FAST: scoped, TINTYPE_KEY_POOR: poor } = process.env;
  const client = (apiKey = key) => new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
  const make = (client, options) => client.images.generate({ model: "fast", prompt: "a fox", ...options });
  const refused = async (what, kind, code, call) => {
    try {
      await call();
      check(`${what} is refused`, false);
    } catch (error) {
      check(`${what}: ${error}`, error instanceof kind && error.code === code);
    }
  };
  await refused("a bad key", OpenAI.AuthenticationError, "invalid_api_key", () => make(client("bad")));
  await refused("a size", OpenAI.BadRequestError, "invalid_value", () => make(client(), { size: "large" }));
  await refused("a scope", OpenAI.PermissionDeniedError, "model_not_allowed", () => make(client(scoped), { model: "pro" }));
  await refused("a model", OpenAI.NotFoundError, "model_not_found", () => make(client(), { model: "dall-e-3" }));
  await refused("no money", OpenAI.RateLimitError, "insufficient_quota", () => make(client(poor)));
  await pause(true);
  await refused("paused", OpenAI.InternalServerError, "unavailable", () => make(client()));
  await pause(false);
  for (const path of ["", "/api/v1", "/v1beta/openai"]) {
    const stray = new OpenAI({ baseURL: `${url}${path}`, apiKey: key, maxRetries: 0 });
    const said = await make(stray).catch((error) => error.message);
    check(`a base URL that ends with "${path}": ${said}`, String(said).includes("with /v1 at its end"));
  }
}

async function batches() {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key });
  const line = (name, options) => ({
    custom_id: name,
    method: "POST",
    url: "/v1/images/generations",
    body: { model: "fast", prompt: `a ${name}`, size: "1024x1024", ...options },
  });
  const uploaded = async (lines) => {
    const content = Buffer.from(lines.map((it) => JSON.stringify(it)).join("\n"));
    return client.files.create({ file: await OpenAI.toFile(content, "batch.jsonl"), purpose: "batch" });
  };
  const submitted = (file, options) => client.batches.create({
    input_file_id: file.id, endpoint: "/v1/images/generations", completion_window: "24h", ...options,
  });
  const ended = async (batch) => {
    while (!["completed", "failed", "cancelled"].includes(batch.status)) {
      await new Promise((resolve) => setTimeout(resolve, 200));
      batch = await client.batches.retrieve(batch.id);
    }
    return batch;
  };
  const content = async (id) => (await client.files.content(id)).text();
  const parsed = async (id) => (await content(id)).trim().split("\n").map((it) => JSON.parse(it));
  const listed = async (pages) => {
    const ids = [];
    for await (const entry of pages) ids.push(entry.id);
    return ids;
  };
  const names = ["fox 0", "fox 1", "fox 2"];
  const lines = names.map((name) => line(name, { response_format: "url" }));
  const file = await uploaded(lines);
  check("an uploaded file", file.purpose === "batch" && file.filename === "batch.jsonl");
  check("its content", (await content(file.id)) === lines.map((it) => JSON.stringify(it)).join("\n"));
  const batch = await ended(await submitted(file, { metadata: { kind: "foxes" } }));
  check("a batch", batch.status === "completed" && batch.request_counts.completed === 3);
  check("its metadata", batch.metadata.kind === "foxes");
  const results = await parsed(batch.output_file_id);
  check("its results", results.map((it) => it.custom_id).join() === names.join());
  const image = await fetch(results[0].response.body.data[0].url);
  check("an image of a batch", size(await image.arrayBuffer()) === "1024x1024");
  check("files are found", (await listed(client.files.list({ limit: 1 }))).includes(file.id));
  check("batches are found", (await listed(client.batches.list({ limit: 1 }))).includes(batch.id));
  const faulty = await ended(await submitted(await uploaded([line("bad", { size: "large" })])));
  const [fault] = faulty.errors.data;
  check("a fault is named", faulty.status === "failed" && fault.line === 1 && fault.param === "body.size");
  const many = await submitted(await uploaded(Array.from({ length: 50 }, (_, at) => line(`many ${at}`))));
  const canceled = await ended(await client.batches.cancel(many.id));
  const errors = await parsed(canceled.error_file_id);
  check("what was canceled", errors.length === canceled.request_counts.failed && errors[0].error.code === "batch_cancelled");
  check("a file is deleted", (await client.files.delete(file.id)).deleted);
  const gone = await client.files.retrieve(file.id).catch((error) => error);
  check("it is gone", gone instanceof OpenAI.NotFoundError);
  const over = await client.batches.cancel(batch.id).catch((error) => error);
  check("an ended batch stays as it is", over instanceof OpenAI.ConflictError);
}

for (const part of [geminiImages, streams, models, refusals, images, formatsAndStreams, responses, imageAtAUrl, refusalsOfOpenAi, batches, frail]) await part();
console.log(`${passed} passed, ${failed} failed (JavaScript)`);
process.exit(failed > 0 ? 1 : 0);
