// Applies the chosen theme and row height before the first paint, so that the page does not flash.
"use strict";
(() => {
  let chosen = null;
  let rows = null;
  try {
    chosen = localStorage.getItem("tintype-theme");
    rows = localStorage.getItem("tintype-rows");
  } catch { /* storage may be switched off */ }
  if (rows) document.documentElement.dataset.rows = rows;
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
