// One's own session and password.
import { field, fill, form, h } from "./dom.js";
import { post } from "./api.js";
import { head, signOut } from "./shell.js";
import { attempt, dialog, toast } from "./dialogs.js";

export async function profile(main, context) {
  const { session } = context;
  const person = session.kind === "person";
  const everywhere = () => dialog({ title: "Sign out everywhere?", text: "Every browser that is signed in as you is signed out, this one included.", confirm: "Sign out everywhere", danger: true,
    submit: () => signOut(true) });
  const password = form({ class: "card stack" }, async (data, element) => {
    await post("/session/password", Object.fromEntries(data));
    element.reset();
    toast("The password is changed; other browsers are signed out");
  },
  h("h2", {}, "Password"),
  field("Current password", h("input", { name: "current_password", type: "password", autocomplete: "current-password", required: true })),
  field("New password", h("input", { name: "password", type: "password", autocomplete: "new-password", required: true }), "At least 10 characters."),
  h("div", {}, h("button", { class: "button main", type: "submit" }, "Change password")));
  fill(main, head("You", person ? `${session.email}, ${session.role} of ${session.account_name}` : "Signed in with the operator's token."),
    h("div", { class: "halves" }, person ? password : null,
      h("section", { class: "card stack" }, h("h2", {}, "Sessions"),
        h("p", { class: "muted" }, "A session ends after 12 hours without use, and after two weeks in any case."),
        h("div", { class: "row wraps" }, h("button", { class: "button", type: "button", onclick: () => attempt(signOut) }, "Sign out"),
          h("button", { class: "button danger", type: "button", onclick: everywhere }, "Sign out everywhere")))),
    h("p", { class: "small muted" }, `Tintype ${session.version}`));
}
