// Sets the chosen colours before anything is drawn, so that a page does not flash.
"use strict";
(() => {
  let chosen = null;
  try { chosen = localStorage.getItem("tintype-theme"); } catch { /* storage may be switched off */ }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
