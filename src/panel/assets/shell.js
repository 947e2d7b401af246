// The frame around every page: navigation, account, sign-out.
import { ROOT, fill, h } from "./dom.js";
import { icon, mark } from "./icons.js";
import { attempt } from "./dialogs.js";
import { remove } from "./api.js";
import { clearDrafts } from "./drafts.js";
import { densitySwitch } from "./density.js";
import { themeSwitch } from "./theme_switch.js";

const OWN = [
  ["overview", "Overview"], ["playground", "Playground"], ["gallery", "Gallery"], ["jobs", "Jobs"], ["batches", "Batches"], ["keys", "API keys"],
  ["webhooks", "Webhooks"], ["deliveries", "Deliveries"], ["usage", "Usage"], ["ledger", "Ledger"], ["people", "People"],
];
const OPERATOR = [["accounts", "Accounts"], ["service", "Service"], ["nodes", "Nodes"], ["queue", "Queue"], ["all-usage", "All usage"], ["audit", "Audit log"]];

function link([name, title], current) {
  return h("a", { href: `#/${name}`, "aria-current": current === name ? "page" : null }, icon(name), title);
}

export const brand = (tag = "a") => h(tag, { class: "brand", href: tag === "a" ? "#/overview" : null },
  mark(), "Tintype");

/** Signs out; throws if that fails, because the session is then still valid. */
export async function signOut(everywhere = false) {
  try {
    await remove(everywhere ? "/sessions" : "/session");
  } catch (error) {
    if (error.status !== 401) throw new Error(`You are still signed in. ${error.message}`);
  }
  // The next person must not see this person's page or drafts.
  clearDrafts();
  history.replaceState(null, "", "#/");
  dispatchEvent(new CustomEvent("signed-out"));
}

/** The padding of the menu in pixels. */
const EDGE = 3;

/** Restores the scroll position of the menu, and scrolls on if the current page is not in sight. */
function scrollToCurrent(nav, before) {
  nav.scrollTop = before;
  const current = nav.querySelector("[aria-current]")?.getBoundingClientRect();
  const seen = nav.getBoundingClientRect();
  if (!current) return;
  nav.scrollTop += Math.max(0, current.bottom + EDGE - seen.bottom) - Math.max(0, seen.top + EDGE - current.top);
}

/** On a narrow screen the menu is a drawer; on a wide one it is always open. */
const NARROW = matchMedia("(max-width: 1180px)");
let closeDrawer = () => {};
NARROW.addEventListener("change", () => closeDrawer());

/** Draws the frame with the status line `line` and a notice for every page; returns the element for the page. */
export function frame(app, session, account, current, line, note) {
  const operator = session.kind === "operator";
  const skip = document.querySelector("[data-skip]");
  const drawer = (open) => {
    box.classList.add("drawer-used");
    box.classList.toggle("drawer-open", open);
    menu.setAttribute("aria-expanded", String(open));
    // The focus stays in the drawer, because the page is behind the scrim.
    for (const behind of [bar, main, skip]) behind.inert = open;
    if (open) (box.querySelector(".nav [aria-current]") ?? box.querySelector(".nav a"))?.focus();
  };
  const menu = h("button", { class: "icon", type: "button", "aria-label": "Menu", "aria-expanded": "false", onclick: () => drawer(!isOpen()) }, icon("menu", 22));
  const isOpen = () => box.classList.contains("drawer-open");
  const bar = h("div", { class: "bar" }, menu, brand(), h("span", { class: "payer small muted clip", title: account?.name }, account?.name ?? ""), themeSwitch(icon));
  const page = h("div", {});
  const main = h("main", { id: "main", class: "content", tabindex: "-1" }, line, note ? h("div", { class: "note" }, note) : null, page);
  const whose = [h("span", { class: "muted" }, "Account"), h("b", {}, account?.name ?? "none")];
  const box = h("div", { class: "frame", onkeydown: (event) => { if (event.key === "Escape" && isOpen()) { drawer(false); menu.focus(); } } },
    bar,
    h("button", { class: "scrim", type: "button", tabindex: "-1", "aria-label": "Close the menu", onclick: () => { drawer(false); menu.focus(); } }),
    h("aside", { class: "side" },
      brand(),
      operator ? h("a", { class: "whose", href: "#/accounts", title: "Choose another account" }, whose) : h("div", { class: "whose" }, whose),
      h("nav", { class: "nav", "aria-label": "Panel", onclick: () => drawer(false) },
        account ? OWN.map((it) => link(it, current)) : null,
        operator ? [h("div", { class: "nav-title" }, "Operator"), OPERATOR.map((it) => link(it, current))] : null),
      h("div", { class: "foot" },
        h("a", { class: "who small", href: "#/profile", title: operator ? null : session.email }, operator ? "Operator" : session.email),
        h("div", { class: "row" },
          h("a", { class: "who small", href: `${ROOT}/docs` }, "API reference"),
          h("span", { class: "row tight" }, densitySwitch(), themeSwitch(icon),
            h("button", { class: "icon", type: "button", title: "Sign out", "aria-label": "Sign out", onclick: () => attempt(signOut) }, icon("out"))))) ),
    main);
  const before = app.querySelector(".nav")?.scrollTop ?? 0;
  skip.inert = false;
  closeDrawer = () => { if (isOpen()) drawer(false); };
  fill(app, box);
  scrollToCurrent(box.querySelector(".nav"), before);
  return page;
}

/** The header of a page: title, description and actions. */
export const head = (title, text, ...actions) => h("header", { class: "head" },
  h("div", {}, h("h1", {}, title), text ? h("p", {}, text) : null),
  actions.length ? h("div", { class: "actions" }, ...actions) : null);
