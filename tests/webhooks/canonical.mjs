// The ways in which JavaScript receivers parse and re-serialize the body of a delivery.

// Writes the members in the order of sort(). Verifies every delivery of encoding `utf8`.
export function direct(value) {
  if (Array.isArray(value)) return `[${value.map(direct).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const members = Object.keys(value).sort().map((name) => `${JSON.stringify(name)}:${direct(value[name])}`);
  return `{${members.join(",")}}`;
}

// Copies members into a new object, then stringifies: the common way. It puts names like array indexes first, by value
// ("index-keys"), and loses a nested `__proto__` ("proto-key"), so such deliveries are checked by their raw bytes.
export function rebuilt(value) {
  const copy = (it) => {
    if (Array.isArray(it)) return it.map(copy);
    if (it === null || typeof it !== "object") return it;
    const sorted = {};
    for (const name of Object.keys(it).sort()) sorted[name] = copy(it[name]);
    return sorted;
  };
  return JSON.stringify(copy(value));
}

// The direct way with every character outside 0x20..0x7e escaped: verifies the deliveries of encoding `ascii`, except those
// with an integer that a double rounds ("big-integer"), a number that Python spells differently ("small-float") or names
// that code points order differently ("astral-order"). Receivers in JavaScript should use `utf8`.
export function escaped(value) {
  return direct(value).replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
