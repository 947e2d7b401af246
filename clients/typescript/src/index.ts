// The client of Tintype, a self-hosted image generation service. `Tintype` is the client, `verifyWebhook` and
// `verifyOperatorEvent` verify deliveries.

export { Batches } from "./batches.js";
export { Generations, Tintype, Transactions } from "./client.js";
export { Jobs } from "./jobs.js";
export * from "./errors.js";
export * from "./types.js";
export type { ClientOptions } from "./transport.js";
export { verifyOperatorEvent, verifyWebhook } from "./webhooks.js";
export type { Delivery, OperatorEvent, WebhookEvent, WebhookHeaders } from "./webhooks.js";
