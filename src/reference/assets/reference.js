// The page: navigation, calls, and the key or token.
import { INTERFACES, groups, load } from "./document.js";
import { ROOT, fill, h, s, sentence } from "./dom.js";
import { article, method } from "./operation.js";
import { inline, prose } from "./prose.js";
import { themeSwitch } from "./theme_switch.js";

const app = document.getElementById("app");
/** Entered keys and tokens, in memory only. */
const secrets = { clients: "", operator: "" };
let shown = null;
/** Removes the listeners of a page when another replaces it. */
let leaving = new AbortController();

const ICONS = {
  menu: "M4 6h16M4 12h16M4 18h16",
  sun: "M12 4V2M12 22v-2M4 12H2M22 12h-2M5.6 5.6 4.2 4.2M19.8 19.8l-1.4-1.4M5.6 18.4l-1.4 1.4M19.8 4.2l-1.4 1.4M12 16.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9z",
  moon: "M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z",
};
const icon = (name) => s("svg", { viewBox: "0 0 24 24", width: 20, height: 20, "aria-hidden": "true", fill: "none", stroke: "currentColor", "stroke-width": 1.8, "stroke-linecap": "round", "stroke-linejoin": "round" }, s("path", { d: ICONS[name] }));

const brand = () => h("a", { class: "brand", href: `${ROOT}/docs` }, h("img", { src: `${ROOT}/docs/assets/icon.svg`, alt: "", width: 28, height: 28 }), "Tintype");

function secretField(name) {
  const { secret, hint } = INTERFACES[name];
  return h("label", { class: "secret" }, h("span", {}, secret),
    h("input", { id: "secret", type: "password", autocomplete: "off", spellcheck: "false", placeholder: hint, value: secrets[name], oninput: (event) => { secrets[name] = event.target.value.trim(); dispatchEvent(new CustomEvent("secret")); } }),
    h("small", {}, "Kept in the memory of this page only."));
}

/** The list of calls, with a search field. */
function index(name, list) {
  const find = (event) => {
    const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const link of nav.querySelectorAll("a[data-words]")) link.hidden = !words.every((it) => link.dataset.words.includes(it));
    for (const group of nav.querySelectorAll(".group")) group.hidden = !group.querySelector("a:not([hidden])");
  };
  const nav = h("nav", { class: "index", "aria-label": "Calls", onclick: () => app.firstChild.classList.remove("open") },
    list.map((group) => h("div", { class: "group" }, h("h2", {}, group.name), group.calls.map((call) =>
      h("a", { href: `#${name}/${call.operationId}`, "data-words": `${call.summary} ${call.method} ${call.path} ${call.operationId}`.toLowerCase() }, h("span", {}, call.summary), method(call.method))))));
  return [h("input", { type: "search", class: "find", placeholder: "Find a call", "aria-label": "Find a call", oninput: find }), nav];
}

/** The page layout around `content`. */
function frame(name, side, content) {
  const menu = h("button", { class: "icon", type: "button", "aria-label": "Menu", onclick: () => box.classList.toggle("open") }, icon("menu"));
  const choice = h("div", { class: "choice", role: "group", "aria-label": "Interface" }, Object.entries(INTERFACES).map(([it, { title }]) =>
    h("a", { href: `#${it}/`, "aria-current": it === name ? "true" : null }, title)));
  const box = h("div", { class: "frame", onkeydown: (event) => { if (event.key === "Escape") box.classList.remove("open"); } },
    h("header", { class: "bar" }, menu, brand(), themeSwitch(icon)),
    h("button", { class: "scrim", type: "button", tabindex: "-1", "aria-label": "Close the menu", onclick: () => box.classList.remove("open") }),
    h("aside", { class: "side" }, h("div", { class: "side-head" }, brand(), themeSwitch(icon)), choice, side, h("p", { class: "small" }, h("a", { href: `${ROOT}/panel` }, "Open the panel"))),
    h("main", { id: "main", tabindex: "-1" }, content));
  fill(app, box);
}

/** Marks the visible call in the index. */
function trackVisibleCall() {
  const links = new Map([...document.querySelectorAll(".index a")].map((it) => [it.hash.split("/")[1], it]));
  const seen = new IntersectionObserver((entries) => {
    for (const { target } of entries.filter((it) => it.isIntersecting)) {
      for (const link of links.values()) link.removeAttribute("aria-current");
      links.get(target.id)?.setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-15% 0px -75% 0px" });
  for (const it of document.querySelectorAll(".call")) seen.observe(it);
}

function draw(name, document) {
  leaving.abort();
  leaving = new AbortController();
  const list = groups(document);
  const auth = {
    name,
    leaving: leaving.signal,
    label: INTERFACES[name].secret,
    secret: () => secrets[name],
    ask: () => { app.firstChild.classList.add("open"); window.document.getElementById("secret").focus(); },
  };
  const { info } = document;
  const own = h("form", { onsubmit: (event) => event.preventDefault() }, secretField(name));
  frame(name, [own, index(name, list)], [
    h("section", { class: "opening" },
      h("h1", {}, info.title), h("p", { class: "lead" }, info.summary),
      h("p", { class: "facts" }, h("span", {}, `Version ${info.version}`), h("span", {}, `OpenAPI ${document.openapi}`), h("span", {}, h("code", {}, document.servers[0].url)),
        name === "clients" ? h("a", { href: INTERFACES[name].place }, "OpenAPI document") : null),
      h("div", { class: "prose" }, prose(info.description))),
    list.map((group) => h("section", { class: "section" },
      h("header", { class: "section-head" }, h("h2", {}, group.name), h("p", {}, inline(group.text))),
      group.calls.map((call) => article(document, call, auth)))),
  ]);
  trackVisibleCall();
}

/** Asks for the token, which the operator's document requires. */
function tokenForm(name, said) {
  const form = h("form", { class: "door", onsubmit: (event) => { event.preventDefault(); show(name); } },
    h("h1", {}, "Operator API"),
    h("p", {}, "This reference requires the operator token. See the file ", h("code", {}, "admin-token"), " in the data directory, or [admin] token in the configuration."),
    secretField(name), said ? h("p", { class: "said bad", role: "alert" }, said) : null,
    h("button", { class: "send", type: "submit" }, "Show reference"));
  frame(name, [], form);
  form.querySelector("input").focus();
}

async function show(name) {
  try {
    if (name === "operator" && !secrets.operator) { shown = null; tokenForm(name); return; }
    draw(name, await load(name, name === "operator" ? secrets.operator : ""));
    shown = name;
  } catch (error) {
    shown = null;
    if (error.status === 401) tokenForm(name, `The token was rejected: ${error.message}.`);
    else frame(name, [], h("div", { class: "door" }, h("h1", {}, "Couldn't load the reference"), h("p", {}, sentence(error.message))));
  }
}

/** Shows the interface and the call in the URL's hash. */
async function navigate() {
  const [word, call] = location.hash.slice(1).split("/");
  const isOne = Object.hasOwn(INTERFACES, word);
  const name = isOne ? word : "clients";
  if (shown !== name) await show(name);
  if (call) document.getElementById(call)?.scrollIntoView();
  else if (isOne) scrollTo(0, 0);
}

addEventListener("hashchange", navigate);
navigate();
