// The people of the account.
import { field, fill, h } from "./dom.js";
import { call, post, remove } from "./api.js";
import { badge, time } from "./format.js";
import { head } from "./shell.js";
import { attempt, dialog, reveal, toast } from "./dialogs.js";
import { empty, listing, table } from "./lists.js";
import { menu } from "./menu.js";

const link = (person) => reveal({ title: "Invitation", value: person.invitation_url,
  text: `Send this link to ${person.email}. It works once and expires in a week. It cannot be shown again, but you can create a new one.` });

const role = (chosen) => field("Role", h("select", { name: "role" },
  h("option", { value: "owner", selected: chosen === "owner" }, "Owner: can make changes"),
  h("option", { value: "viewer", selected: chosen === "viewer" }, "Viewer: read-only access")));

export async function people(main, context) {
  const path = `${context.base}/people`;
  const operator = context.session.kind === "operator";
  const invite = () => dialog({ title: `Invite to ${context.account.name}`, confirm: "Create link",
    fields: [field("Email", h("input", { name: "email", type: "email", required: true, autocomplete: "off" })), role("owner")],
    submit: (data) => post(path, Object.fromEntries(data)) }).then((person) => { if (person) link(person); return list.load(); });
  const reload = (it) => attempt(async () => link(await post(`${path}/${it.person_id}/invitation`)), null, list.load);
  const reset = (it) => dialog({ title: "Reset the password?", text: `Creates a link for ${it.email} to choose a new password. It works once and expires in a week.`, confirm: "Create link",
    fields: [h("label", { class: "check" }, h("input", { type: "checkbox", name: "revoke" }), "Revoke the old password and end all sessions now")],
    submit: (data) => post(`${path}/${it.person_id}/invitation`, { revoke: data.has("revoke") }) }).then((person) => { if (person) link(person); return list.load(); });
  const signOut = (it) => dialog({ title: "Sign this person out?", text: `Ends all sessions of ${it.email}, who can sign in again.`, confirm: "Sign out",
    submit: async () => { await remove(`${path}/${it.person_id}/sessions`); toast("Signed out everywhere"); } });
  const changeRole = (it) => dialog({ title: "Change role", text: it.email, success: "Saved", fields: [role(it.role)], submit: (data) => call("PATCH", `${path}/${it.person_id}`, Object.fromEntries(data)) }).then(list.load);
  const removePerson = (it) => dialog({ title: "Remove this person?", text: `Ends all sessions of ${it.email}. To return, they need a new invitation.`, confirm: "Remove", danger: true, success: "Removed",
    submit: () => remove(`${path}/${it.person_id}`) }).then(list.load);
  const slim = (text, work) => h("button", { class: "button slim", type: "button", onclick: work }, text);
  const columns = [
    { title: "Email", cell: (it) => h("b", { class: "wrap" }, it.email) },
    { title: "State", kind: "fit", cell: (it) => badge(it.status, it.status === "expired" ? "invitation expired" : it.status) },
    { title: "Role", kind: "fit", cell: (it) => it.role },
    { title: "Since", kind: "fit", cell: (it) => time(it.created_at) },
    ...(context.canChange ? [{ title: "", kind: "fit", cell: (it) => (operator || it.status !== "active" ? h("span", { class: "row end" },
      it.status === "active" ? slim("Role", () => changeRole(it)) : slim("New link", () => reload(it)),
      menu(`More actions for ${it.email}`, [
        !operator ? null : it.status === "active" ? ["Reset password", () => reset(it)] : ["Role", () => changeRole(it)],
        it.status === "active" ? ["End all sessions", () => signOut(it)] : null,
        ["Remove", () => removePerson(it), "danger"]])) : null) }] : []),
  ];
  const list = listing({ path, context, show: (rows) => table(columns, rows, "People", (it) => it.person_id),
    none: empty("No people yet", context.canChange ? "Invite the people who manage this account." : "") });
  fill(main, head("People", operator ? "They sign in with email and password and see only this account." : "The people who can sign in to this account. Owners invite people; the operator changes roles and removes those who have joined.",
    context.canChange ? h("button", { class: "button main", type: "button", onclick: invite }, "Invite") : null), list.node);
  await list.begin();
  return list.load;
}
