// Unsent input. A playground draft holds the text, the chosen images and the last job, until the user signs out or closes the tab.

import { idempotentSubmit } from "./idempotent_submit.js";

const PREFIX = "tintype-draft-";

/** The chosen images by account. Files cannot be stored, so they last until the page is reloaded. */
const images = new Map();

/** The batch draft by account: { file, submit }. Lasts until the page is reloaded too. */
const batches = new Map();

/** `submit` is part of the draft, so that a file is submitted once even if the user leaves the page meanwhile. */
export function batchDraftOf(account) {
  if (!batches.has(account)) batches.set(account, { file: null, submit: idempotentSubmit() });
  return batches.get(account);
}

/** The submits of other forms, by form. Last until the page is reloaded too. */
const submits = new Map();

/** The submits of a form, which the user may leave and open again. `make` returns new ones. */
export function submitOf(id, make = idempotentSubmit) {
  if (!submits.has(id)) submits.set(id, make());
  return submits.get(id);
}

/** What was typed into dialogs that the end of the session closed, as [name, value] pairs by dialog. Lasts until the page is reloaded. */
const dialogs = new Map();

/** `id` identifies a dialog with its initial values, so that nothing typed for one record is offered for another. */
export const keepDialog = (id, values) => dialogs.set(id, values);

/** Returns what was typed into this dialog, once; `null` if nothing was. */
export function takeDialog(id) {
  const values = dialogs.get(id) ?? null;
  dialogs.delete(id);
  return values;
}

/** Deletes what was typed into dialogs, when another account is opened. */
export const forgetDialogs = () => dialogs.clear();

/** The session storage names the visitor whose drafts these are. */
const OWNER = "tintype-drafts-of";
let owner = null;

/** Keeps the drafts if this visitor typed them, and deletes the drafts of another visitor. */
export function claimDrafts(visitor) {
  try { owner ??= sessionStorage.getItem(OWNER); } catch { /* lasts until the page is left */ }
  if (owner !== visitor) clearDrafts();
  owner = visitor;
  try { sessionStorage.setItem(OWNER, visitor); } catch { /* lasts until the page is left */ }
}

export function draftOf(account) {
  const name = PREFIX + account;
  if (!images.has(account)) images.set(account, []);
  const read = () => {
    try { return JSON.parse(sessionStorage.getItem(name)) ?? {}; } catch { return {}; }
  };
  const write = (draft) => {
    try { sessionStorage.setItem(name, JSON.stringify(draft)); } catch { /* lasts until the page is left */ }
  };
  return {
    images: images.get(account),
    read,
    /** Merges `values` into the draft. */
    keep: (values) => write({ ...read(), ...values }),
    /** Begins a new draft without images. */
    replace: (values) => { images.get(account).length = 0; write(values); },
  };
}

/** Deletes all drafts, so that the next person at this browser cannot see them. */
export function clearDrafts() {
  images.clear();
  batches.clear();
  submits.clear();
  forgetDialogs();
  try {
    for (const name of Object.keys(sessionStorage)) if (name.startsWith(PREFIX)) sessionStorage.removeItem(name);
  } catch { /* none is stored */ }
}
