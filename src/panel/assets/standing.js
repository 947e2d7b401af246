// Keeps the keyboard focus over a redraw of a part of the page.

const words = (element) => element.getAttribute("aria-label") || element.getAttribute("href") || element.name || element.textContent;

/** Describes the focused element in this part by row, kind, label and position. `null` if the focus is elsewhere. */
export function standing(part, element = document.activeElement) {
  if (!element || element === part || !part.contains(element)) return null;
  const row = element.closest("[data-key]");
  const inRow = row && row !== part && part.contains(row);
  const kind = element.localName;
  const all = [...(inRow ? row : part).querySelectorAll(kind)];
  const called = words(element);
  return { key: inRow ? row.dataset.key : null, kind, called, at: all.filter((it) => words(it) === called).indexOf(element), place: all.indexOf(element) };
}

/** Restores the focus. A label may have changed, as that of a switch; if the row is gone, the page gets the focus. */
export function stand(part, stood) {
  if (!stood) return;
  const scope = stood.key === null ? part : [...part.querySelectorAll("[data-key]")].find((it) => it.dataset.key === stood.key);
  const all = scope ? [...scope.querySelectorAll(stood.kind)] : [];
  const same = all.filter((it) => words(it) === stood.called)[stood.at];
  const successor = same ?? (stood.key === null ? null : all[stood.place]);
  // A menu that was open stays open.
  successor?.closest("[popover]")?.showPopover();
  if (successor) successor.focus({ preventScroll: true });
  else part.closest("main")?.focus({ preventScroll: true });
}
