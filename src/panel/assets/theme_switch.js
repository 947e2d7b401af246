// The button that changes between the light and the dark theme.
import { fill, h } from "./dom.js";

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

/** `icon` draws the icons of the page, by name. */
export function themeSwitch(icon) {
  const button = h("button", { class: "icon", type: "button", onclick: () => {
    const theme = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    try { localStorage.setItem("tintype-theme", theme); } catch { /* lasts for this page only */ }
    draw();
  } });
  const draw = () => {
    const label = isDark() ? "Light theme" : "Dark theme";
    button.setAttribute("aria-label", label);
    button.setAttribute("title", label);
    fill(button, icon(isDark() ? "sun" : "moon"));
  };
  draw();
  return button;
}
