// The sign-in and invitation pages.
import { field, fill, form, h } from "./dom.js";
import { get, post } from "./api.js";
import { icon } from "./icons.js";
import { brand } from "./shell.js";
import { themeSwitch } from "./theme_switch.js";
import { notice } from "./dialogs.js";

function door(app, ...children) {
  fill(app, h("main", { id: "main", class: "door", tabindex: "-1" },
    h("div", { class: "door-card fade" }, h("div", { class: "row spread" }, brand("div"), themeSwitch(icon)), ...children)));
  app.querySelector("input:not([readonly])")?.focus();
}

const button = (text) => h("button", { class: "button main", type: "submit" }, text);

/**
 * `expired` is the kind of visitor whose session has ended, or `null`. Shows the form of the operator first after a session of the
 * operator, and while the service has no people.
 */
export async function signIn(app, enter, expired, signal) {
  let asOperator = expired === "operator";
  // Nothing of the last session stays in sight.
  fill(app);
  if (!expired) {
    try {
      asOperator = !(await get("/sign-in", signal)).has_people;
    } catch { /* the form of people has a button for the operator */ }
  }
  if (!signal.aborted) signInForm(app, enter, expired, asOperator);
}

function signInForm(app, enter, expired, asOperator) {
  const other = h("button", { class: "button quiet", type: "button", onclick: () => signInForm(app, enter, expired, !asOperator) },
    asOperator ? "Sign in with email and password" : "Sign in as the operator");
  const fields = asOperator
    ? [field("Operator token", h("input", { name: "token", type: "password", autocomplete: "current-password", required: true }),
      "See the file admin-token in the data directory, or [admin] token in the configuration.")]
    : [field("Email", h("input", { name: "email", type: "email", autocomplete: "username", required: true })),
      field("Password", h("input", { name: "password", type: "password", autocomplete: "current-password", required: true }))];
  door(app, h("h1", {}, asOperator ? "Sign in as the operator" : "Sign in"),
    expired ? notice("warn", "Your session has ended. Sign in to continue where you were: what you typed in the playground or in a dialog is kept for you in this tab.") : null,
    form({}, async (data) => {
      await enter(await post(asOperator ? "/session/operator" : "/session", Object.fromEntries(data)));
    }, ...fields, button("Sign in"), other));
}

export async function invitation(app, token, enter) {
  let found;
  try {
    found = await post("/invitation", { token });
  } catch (error) {
    door(app, h("h1", {}, "Invitation"), notice("bad", error.message),
      h("a", { class: "button", href: "#/" }, "Go to sign-in"));
    return;
  }
  const role = found.role === "owner" ? "manage" : "view";
  door(app, h("h1", {}, "Welcome"),
    h("p", { class: "muted" }, `You are invited to ${role} the account `, h("b", {}, found.account_name), ". Choose a password to continue."),
    form({}, async (data) => {
      await enter(await post("/invitation/accept", { token, password: data.get("password") }));
    },
    field("Email", h("input", { name: "email", type: "email", value: found.email, readonly: true, autocomplete: "username" })),
    field("New password", h("input", { name: "password", type: "password", autocomplete: "new-password", required: true }),
      `At least ${found.min_chars} characters. Several words are easier to remember than a random string.`),
    button("Set password")));
}
