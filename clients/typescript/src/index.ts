// The client of Tintype, a self-hosted image generation service. `Tintype` is the client, `verifyWebhook` verifies deliveries.

export { Batches } from "./batches.js";
export { Generations, Tintype, Transactions } from "./client.js";
export { Jobs } from "./jobs.js";
export * from "./errors.js";
export * from "./types.js";
export type { ClientOptions } from "./transport.js";
export { verifyWebhook } from "./webhooks.js";
export type { Delivery, WebhookEvent, WebhookHeaders } from "./webhooks.js";
