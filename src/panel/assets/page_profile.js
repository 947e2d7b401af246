// The profile page: sessions and password.
import { field, fill, form, h } from "./dom.js";
import { post } from "./api.js";
import { head, signOut } from "./shell.js";
import { attempt, dialog, toast } from "./dialogs.js";

export async function profile(main, context) {
  const { session } = context;
  const person = session.kind === "person";
  const everywhere = () => dialog({ title: "Sign out everywhere?", text: "This ends all your sessions, including this one.", confirm: "Sign out everywhere", danger: true,
    submit: () => signOut(true) });
  const password = form({ class: "card stack" }, async (data, element) => {
    await post("/session/password", Object.fromEntries(data));
    element.reset();
    toast("Password changed. Your other sessions were ended.");
  },
  h("h2", {}, "Password"),
  field("Current password", h("input", { name: "current_password", type: "password", autocomplete: "current-password", required: true })),
  field("New password", h("input", { name: "password", type: "password", autocomplete: "new-password", required: true }), "At least 10 characters."),
  h("div", {}, h("button", { class: "button main", type: "submit" }, "Change password")));
  fill(main, head("Profile", person ? `${session.email}, ${session.role} of ${session.account_name}` : "Signed in with the operator token."),
    h("div", { class: "halves" }, person ? password : null,
      h("section", { class: "card stack" }, h("h2", {}, "Sessions"),
        h("p", { class: "muted" }, "A session ends after 12 hours of inactivity, or after two weeks at the latest."),
        h("div", { class: "row wraps" }, h("button", { class: "button", type: "button", onclick: () => attempt(signOut) }, "Sign out"),
          h("button", { class: "button danger", type: "button", onclick: everywhere }, "Sign out everywhere")))),
    h("p", { class: "small muted version" }, `Tintype ${session.version}`));
}
