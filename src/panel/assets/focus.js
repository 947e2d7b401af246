// Keeps the keyboard focus and the scroll positions when a part of the page is redrawn.

const labelOf = (element) => element.getAttribute("aria-label") || element.getAttribute("href") || element.name || element.textContent;

/** Describes the focused element in this part by row, kind, label and position. `null` if the focus is elsewhere. */
export function saveFocus(part, element = document.activeElement) {
  if (!element || element === part || !part.contains(element)) return null;
  const row = element.closest("[data-key]");
  const inRow = row && row !== part && part.contains(row);
  const kind = element.localName;
  const all = [...(inRow ? row : part).querySelectorAll(kind)];
  const label = labelOf(element);
  return { key: inRow ? row.dataset.key : null, kind, label, at: all.filter((it) => labelOf(it) === label).indexOf(element), place: all.indexOf(element) };
}

/** Restores the focus. The label may have changed, as on a switch. If the row is gone, the page gets the focus. */
export function restoreFocus(part, saved) {
  if (!saved) return;
  const scope = saved.key === null ? part : [...part.querySelectorAll("[data-key]")].find((it) => it.dataset.key === saved.key);
  const all = scope ? [...scope.querySelectorAll(saved.kind)] : [];
  const same = all.filter((it) => labelOf(it) === saved.label)[saved.at];
  const successor = same ?? (saved.key === null ? null : all[saved.place]);
  // A menu that was open stays open.
  successor?.closest("[popover]")?.showPopover();
  if (successor) successor.focus({ preventScroll: true });
  else part.closest("main")?.focus({ preventScroll: true });
}

/** The parts that scroll, by row and position in it. */
function scrollers(part) {
  const all = [...part.querySelectorAll("pre, .scroll")].map((it) => [it.closest("[data-key]")?.dataset.key ?? "", it]);
  return new Map(all.map(([key, it], at) => [`${key} ${all.slice(0, at).filter(([other]) => other === key).length}`, it]));
}

/** The parts that the user has scrolled. */
export const saveScroll = (part) => [...scrollers(part)].filter(([, it]) => it.scrollLeft || it.scrollTop).map(([key, it]) => [key, it.scrollLeft, it.scrollTop]);

export function restoreScroll(part, saved) {
  if (!saved.length) return;
  const found = scrollers(part);
  for (const [key, left, top] of saved) found.get(key)?.scrollTo({ left, top, behavior: "instant" });
}
