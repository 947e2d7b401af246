// What was begun and not sent yet. A draft of the playground lasts until the visitor signs out or closes the tab: what was typed, the chosen images, and the last job.

import { idempotentSubmit } from "./idempotent_submit.js";

const PREFIX = "tintype-draft-";

/** The chosen images of each account. Files cannot be stored, so these last until the next load. */
const images = new Map();

/** The chosen file of each account with requests of a batch: { file, submit }. Lasts until the next load, too. */
const batches = new Map();

/** The draft of a batch: `submit` belongs to it, so that a file is submitted once though its page was left meanwhile. */
export function batchDraftOf(account) {
  if (!batches.has(account)) batches.set(account, { file: null, submit: idempotentSubmit() });
  return batches.get(account);
}

/** The draft of an account. */
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
    /** Sets some of its values. */
    keep: (values) => write({ ...read(), ...values }),
    /** Begins a new draft without images. */
    replace: (values) => { images.get(account).length = 0; write(values); },
  };
}

/** Forgets all drafts: the next person at this browser must not see them. */
export function forgetDrafts() {
  images.clear();
  batches.clear();
  try {
    for (const name of Object.keys(sessionStorage)) if (name.startsWith(PREFIX)) sessionStorage.removeItem(name);
  } catch { /* none is stored */ }
}
