// Reloads the page if its modules did not load: while nodes are being upgraded, they may come from nodes with other assets.
// The page names this script without the tag of its assets, so that every node serves it.
"use strict";
// Fires after the modules, also if some of them failed.
addEventListener("load", () => {
  const KEY = "tintype-reloads";
  const MAX_RELOADS = 15;
  // Without storage, nothing would limit the reloads.
  let reloads = MAX_RELOADS;
  try {
    if ("started" in document.documentElement.dataset) return sessionStorage.removeItem(KEY);
    const earlier = Number(sessionStorage.getItem(KEY));
    sessionStorage.setItem(KEY, earlier + 1);
    reloads = earlier;
  } catch { /* storage may be switched off */ }
  const app = document.getElementById("app");
  if (reloads >= MAX_RELOADS) {
    app.textContent = "The panel could not start. Reload this page in a few minutes. If that does not help, contact the operator of the service.";
    return;
  }
  app.textContent = "A new version of Tintype is being installed. This page reloads.";
  setTimeout(() => location.reload(), 2000);
});
