// Starts the panel: loads the session and shows the requested page.
import { fill, h } from "./dom.js";
import { call, get } from "./api.js";
import { keepTimesCurrent, setCurrency } from "./format.js";
import { brand, frame, head } from "./shell.js";
import { attempt, closeAll, keepTyped, notice, toast } from "./dialogs.js";
import { claimDrafts, forgetDialogs } from "./drafts.js";
import { isAway, recovered, retryLater } from "./recovery.js";
import { postponed, refresher } from "./refresh.js";
import { listen } from "./live.js";
import { signIn, invitation } from "./page_sign_in.js";
import { overview } from "./page_overview.js";
import { playground } from "./page_playground.js";
import { gallery } from "./page_gallery.js";
import { jobs } from "./page_jobs.js";
import { job } from "./page_job.js";
import { batches } from "./page_batches.js";
import { batch } from "./page_batch.js";
import { keys } from "./page_keys.js";
import { key } from "./page_key.js";
import { webhooks } from "./page_webhooks.js";
import { deliveries } from "./page_deliveries.js";
import { nodes } from "./page_nodes.js";
import { queue } from "./page_queue.js";
import { allUsage, usage } from "./page_usage.js";
import { ledger } from "./page_ledger.js";
import { people } from "./page_people.js";
import { accounts } from "./page_accounts.js";
import { service } from "./page_service.js";
import { audit } from "./page_audit.js";
import { profile } from "./page_profile.js";

const PAGES = { overview, playground, gallery, jobs, batches, keys, webhooks, deliveries, usage, ledger, people, accounts, service, nodes, queue, "all-usage": allUsage, audit, profile };
const OPERATORS = ["accounts", "service", "nodes", "queue", "all-usage", "audit"];
const FREE = [...OPERATORS, "profile"];
/** Pages of a single entry of a list. */
const SINGLE = { jobs: job, batches: batch, keys: key };
const ENTRIES = { jobs: "Job", batches: "Batch", keys: "API key" };
const TITLES = { keys: "API keys", "all-usage": "Usage of all accounts", audit: "Audit log" };

/** After this many milliseconds without content, a page shows its title. */
const PATIENCE = 150;

const app = document.getElementById("app");
let session = null;
let account = null;
/** The kind of visitor whose session ended without signing out, or `null`. */
let expired = null;
let leave = () => {};

/** The scroll position, and the number of loaded list pages, of each history entry. */
const positions = new Map();
history.scrollRestoration = "manual";

/** The saved position of the current history entry. */
function savedPosition() {
  const found = positions.get(history.state?.entry);
  if (!found) history.replaceState({ entry: crypto.getRandomValues(new Uint32Array(2)).join("-") }, "");
  return found ?? { scroll: 0, pages: 1 };
}

function setAccount(chosen) {
  if (chosen?.id !== account?.id) forgetDialogs();
  account = chosen;
  try { sessionStorage.setItem("tintype-account", JSON.stringify(chosen)); } catch { /* lasts until the next load */ }
}

/** What the panel keeps of the operator's account; `active` is unknown until `checkAccount` has asked. */
const chosenFrom = ({ account_id: id, name, active }) => ({ id, name, active });

function savedAccount() {
  if (session.kind === "person") return { id: session.account_id, name: session.account_name };
  try {
    const saved = JSON.parse(sessionStorage.getItem("tintype-account"));
    if (saved?.id) return saved;
  } catch { /* none is kept */ }
  return session.account_id ? { id: session.account_id, name: session.account_name } : null;
}

function parseHash() {
  const [path, search = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [name = "", ...rest] = path.split("/");
  return { name, rest, search: new URLSearchParams(search) };
}

async function show() {
  leave();
  closeAll();
  const { name, rest, search } = parseHash();
  if (name === "invitation") {
    document.title = "Welcome · Tintype";
    return invitation(app, rest[0] ?? "", enter);
  }
  if (!session) {
    document.title = "Sign in · Tintype";
    const stop = new AbortController();
    leave = () => { stop.abort(); leave = () => {}; };
    return signIn(app, enter, expired, stop.signal);
  }
  if (name === "accounts" && rest[0] && session.kind === "operator" && await openAccount(rest[0])) return;
  const may = session.kind === "operator" || !OPERATORS.includes(name);
  const known = PAGES[name] && may ? name : account ? "overview" : "accounts";
  const pageName = !account && !FREE.includes(known) ? "accounts" : known;
  const returned = Boolean(history.state?.entry);
  const before = savedPosition();
  const { entry } = history.state;
  const stop = new AbortController();
  const { node: stale, reloader, live } = refresher(stop.signal);
  const isOwner = session.kind === "person" && session.role === "owner";
  const isOfAccount = account && !FREE.includes(pageName);
  const isActive = session.kind === "operator" ? account?.active !== false : session.account_active;
  const main = frame(app, session, account, pageName, stale, isActive || (session.kind === "operator" && !isOfAccount) ? null : deactivated(isOwner));
  const context = {
    session, account, rest, search, reloader, signal: stop.signal, returned, list: { pages: before.pages },
    base: account ? `/accounts/${account.id}` : "",
    canChange: session.kind === "operator" || (isOwner && isActive),
    isActive,
    canGenerate: isActive && (session.kind === "operator" || isOwner),
    visit: (id, hash) => attempt(async () => {
      setAccount(chosenFrom(await get(`/accounts/${id}`, stop.signal)));
      location.hash = hash;
    }),
    /** Redraws the frame, which shows the account name, if this account is open. Returns whether it is. */
    renamed: ({ account_id: id, name }) => {
      if (id !== account?.id) return false;
      setAccount({ ...account, name });
      show();
      return true;
    },
    choose: (chosen) => { setAccount(chosen); location.hash = "#/overview"; },
  };
  leave = () => {
    positions.set(entry, { scroll: scrollY, pages: context.list.pages });
    stop.abort();
    leave = () => {};
  };
  const title = (words) => {
    // The operator may have tabs with several accounts.
    const whose = session?.kind === "operator" && !FREE.includes(pageName) ? `${account.name} · ` : "";
    document.title = `${words} · ${whose}Tintype`;
  };
  context.title = title;
  const words = rest[0] && SINGLE[pageName] ? `${ENTRIES[pageName]} …${rest[0].slice(-8)}` : TITLES[pageName] ?? pageName[0].toUpperCase() + pageName.slice(1);
  title(words);
  scrollTo(0, 0);
  const page = (rest[0] && SINGLE[pageName]) || PAGES[pageName];
  let refresh = null;
  // A fast page shows its content at once.
  const waits = setTimeout(() => {
    if (!main.hasChildNodes()) fill(main, h("div", { class: "loading" }, head(words), h("p", { class: "muted" }, "Loading…")));
  }, PATIENCE);
  try {
    refresh = await page(main, context);
  } catch (error) {
    if (error.name === "AbortError" || stop.signal.aborted) return;
    if (error.status === 404 && session.kind === "operator" && !FREE.includes(pageName) && !rest.length) setAccount(null);
    const isGone = error.status === 404 && rest.length > 0;
    if (isGone && session.kind === "operator" && await openAccountOf(pageName, rest[0], stop.signal)) return;
    if (stop.signal.aborted) return;
    fill(main, h("div", { class: "stack" }, h("h1", {}, isGone ? "Not found" : "Couldn't load this page"), notice("bad", error.message),
      isAway(error) ? h("p", { class: "muted" }, "The panel retries, and shows the page when the service is back.") : null,
      h("div", {}, isGone ? h("a", { class: "button", href: `#/${pageName}` }, `All ${pageName === "keys" ? "API keys" : pageName}`)
        : h("button", { class: "button", type: "button", onclick: show }, "Try again"))));
    if (isAway(error)) retryLater(show, stop.signal);
    return;
  } finally {
    clearTimeout(waits);
  }
  recovered();
  if (stop.signal.aborted) return;
  if (session.kind === "operator" && isOfAccount) checkAccount(stop.signal);
  scrollTo(0, before.scroll);
  const reload = refresh ?? (() => {});
  // Operator pages show all accounts, whichever one is open.
  const redraw = postponed(reload, stop.signal);
  const changed = () => {
    redraw();
    if (session?.kind === "person") checkSession();
    else if (isOfAccount) checkAccount(stop.signal);
  };
  listen(account && !OPERATORS.includes(pageName) ? `${context.base}/events` : "/events", changed, live, stop.signal);
}

/** Follows a link to an account: opens its overview in place of the link. Returns whether it exists. */
async function openAccount(id) {
  const asked = location.hash;
  let found;
  try {
    found = await get(`/accounts/${encodeURIComponent(id)}`);
  } catch {
    return false;
  }
  // The user has gone on meanwhile.
  if (location.hash !== asked) return true;
  setAccount(chosenFrom(found));
  history.replaceState(history.state, "", "#/overview");
  await show();
  return true;
}

/** Opens the account to which this job, batch or key belongs, and its page: a link, or a searched id, does not name the account. */
async function openAccountOf(pageName, id, signal) {
  let owner;
  try {
    owner = await get(`/${pageName}/${encodeURIComponent(id)}/account`, signal);
  } catch {
    return false;
  }
  if (signal.aborted || owner.account_id === account.id) return false;
  setAccount(chosenFrom(owner));
  await show();
  toast(`This belongs to ${owner.name}. That account is now open.`);
  return true;
}

async function enter(found) {
  session = found;
  claimDrafts(found.person_id ?? found.kind);
  expired = null;
  setCurrency(found.currency);
  account = savedAccount();
  if (location.hash.startsWith("#/invitation")) history.replaceState(null, "", "#/overview");
  if (["", "#", "#/", "#/sign-in"].includes(location.hash)) history.replaceState(null, "", account ? "#/overview" : "#/accounts");
  await show();
}

function deactivated(isOwner) {
  const words = ["This account is deactivated. Its keys are rejected, and it cannot create jobs. Accepted jobs still run. ",
    isOwner ? "Until the operator activates it again, you have read-only access." : null];
  if (session.kind !== "operator") return notice("warn", words);
  const activate = () => attempt(() => call("PATCH", `/accounts/${account.id}`, { active: true }), "Activated", () => {
    setAccount({ ...account, active: true });
    return show();
  });
  return notice("warn", h("div", { class: "row wraps spread" }, h("span", {}, words), h("button", { class: "button slim", type: "button", onclick: activate }, "Activate")));
}

/** Redraws the page if the operator's account is active when the page says that it is not, or the reverse. */
async function checkAccount(signal) {
  const before = account;
  let found;
  // A page that cannot reach the service says so.
  try { found = await get(`/accounts/${before.id}`, signal); } catch { return; }
  if (signal.aborted || account !== before) return;
  const wasActive = before.active !== false;
  setAccount({ ...before, active: found.active });
  if (wasActive !== (found.active !== false)) await show();
}

/** What decides which controls the visitor sees. */
const rights = ({ kind, person_id: person, role, account_active: active }) => [kind, person, role, active].join();

/** Redraws the page if the visitor's rights have changed, or if another visitor has signed in with this browser. */
async function checkSession() {
  const before = session;
  if (!before) return;
  let found;
  // A page that cannot reach the service says so.
  try { found = await get("/session"); } catch { return; }
  if (session !== before || rights(found) === rights(before)) return;
  await enter(found);
  toast("Your permissions have changed.");
}

addEventListener("forbidden", checkSession);
addEventListener("hashchange", async () => {
  await show();
  document.getElementById("main")?.focus({ preventScroll: true });
});
addEventListener("signed-out", ({ detail }) => {
  expired = detail === "expired" ? session?.kind ?? null : null;
  if (expired) keepTyped();
  document.getElementById("toasts").replaceChildren();
  session = null;
  account = null;
  // After an expired session, the operator continues in the same account.
  if (!expired) try { sessionStorage.removeItem("tintype-account"); } catch { /* none is kept */ }
  show();
});
document.querySelector("[data-skip]").addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("main")?.focus();
});

async function start() {
  const stop = new AbortController();
  try {
    if (parseHash().name === "invitation") await show();
    else await enter(await get("/session"));
  } catch (error) {
    if (error.status === 401) return show();
    fill(app, h("main", { id: "main", class: "door", tabindex: "-1" }, h("div", { class: "door-card" }, brand("div"), notice("bad", error.message),
      h("button", { class: "button", type: "button", onclick: () => { stop.abort(); start(); } }, "Try again"))));
    if (isAway(error)) retryLater(start, stop.signal);
  }
}

keepTimesCurrent();
// For startup.js.
document.documentElement.dataset.started = "";
await start();
