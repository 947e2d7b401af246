// A notice that the built-in generator draws demo images, because no AI model is connected, and how the operator connects one.
import { h } from "./dom.js";
import { code, notice } from "./dialogs.js";

const EXAMPLE = `[backends.comfy]
kind = "comfyui"
base_url = "http://127.0.0.1:8188"

[tiers.fast]
backends = [{ name = "comfy" }]`;

/** Open until each model has an AI model. */
export const connectHelp = ({ demo_models: drawn }) => h("details", { class: "further", open: drawn.length > 0 }, h("summary", {}, "Add a backend"), h("div", { class: "stack" },
  h("p", { class: "small muted" }, "Define the backend in ", h("code", {}, "config.toml"), ", and name it for each model that it generates images for. The kinds are ", h("code", {}, "comfyui"), ", ", h("code", {}, "gemini"), ", ", h("code", {}, "openai"), " and ", h("code", {}, "sdapi"), ". For example:"),
  code(EXAMPLE),
  h("p", { class: "small muted" }, "Test it with ", h("code", {}, "tintype check-config --probe"), ", then restart the service.")));

/** `null` if each of these models has an AI model. */
export function demoNotice({ session }, models = session.demo_models) {
  const drawn = models.filter((it) => session.demo_models.includes(it));
  if (!drawn.length) return null;
  const which = drawn.length === 3 ? "" : ` to ${drawn.join(" and ")}`;
  const how = session.kind === "operator" ? [h("a", { href: "#/service" }, "Add a backend"), "."] : "The operator of this service can connect one.";
  return notice("info", `Demo images: no AI model is connected${which}. The built-in generator draws them. `, how);
}
