// Where the keyboard stands, and where it stands once a part of the page has been drawn anew.

const words = (element) => element.getAttribute("aria-label") || element.getAttribute("href") || element.name || element.textContent;

/** What somebody stands on in this part: its row, its kind, what it is called, and which of those it is. `null` outside of it. */
export function standing(part, element = document.activeElement) {
  if (!element || element === part || !part.contains(element)) return null;
  const row = element.closest("[data-key]");
  const inRow = row && row !== part && part.contains(row);
  const kind = element.localName;
  const all = [...(inRow ? row : part).querySelectorAll(kind)];
  const called = words(element);
  return { key: inRow ? row.dataset.key : null, kind, called, at: all.filter((it) => words(it) === called).indexOf(element), place: all.indexOf(element) };
}

/**
 * Stands there again. In a row, what was pressed may be called otherwise by now, as a switch is; where the row is gone, the
 * page is better than its very beginning.
 */
export function stand(part, stood) {
  if (!stood) return;
  const scope = stood.key === null ? part : [...part.querySelectorAll("[data-key]")].find((it) => it.dataset.key === stood.key);
  const all = scope ? [...scope.querySelectorAll(stood.kind)] : [];
  const same = all.filter((it) => words(it) === stood.called)[stood.at];
  const successor = same ?? (stood.key === null ? null : all[stood.place]);
  if (successor) successor.focus({ preventScroll: true });
  else part.closest("main")?.focus({ preventScroll: true });
}
