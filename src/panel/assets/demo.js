// A notice that the built-in generator draws demo images, because no AI model is connected.
import { h } from "./dom.js";
import { notice } from "./dialogs.js";

/** `null` if each of these models has an AI model. */
export function demoNotice({ session }, models = session.demo_models) {
  const drawn = models.filter((it) => session.demo_models.includes(it));
  if (!drawn.length) return null;
  const which = drawn.length === 3 ? "" : ` to ${drawn.join(" and ")}`;
  const how = session.kind === "operator" ? ["Add a backend to ", h("code", {}, "config.toml"), ", as docs/backends.md shows."] : "The operator of this service can connect one.";
  return notice("info", `Demo images: no AI model is connected${which}. The built-in generator draws them. `, how);
}
