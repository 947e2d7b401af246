// Code samples of a call.

const shell = (text) => `'${text.replaceAll("'", "'\\''")}'`;
const quoted = (text) => JSON.stringify(text);

/** A JSON value as a Python literal. */
function python(value, depth = 0) {
  const pad = "    ".repeat(depth + 1);
  const end = "    ".repeat(depth);
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (Array.isArray(value)) return value.length ? `[${value.map((it) => python(it, depth)).join(", ")}]` : "[]";
  if (typeof value !== "object") return JSON.stringify(value);
  const members = Object.entries(value).map(([name, it]) => `${pad}${quoted(name)}: ${python(it, depth + 1)},\n`);
  return members.length ? `{\n${members.join("")}${end}}` : "{}";
}

function parsed(text) {
  try { return JSON.parse(text); } catch { return undefined; }
}

const WRITERS = {
  curl({ method, url, headers, body }) {
    const first = method === "GET" ? "curl -sS" : `curl -sS -X ${method}`;
    // A long URL gets its own line.
    const lines = first.length + url.length > 50 ? [first, quoted(url)] : [`${first} ${quoted(url)}`];
    // Double quotes let the shell expand the variable. Typed values get single quotes, so that it expands nothing.
    for (const [name, value] of Object.entries(headers)) lines.push(`-H ${name === "Authorization" ? quoted(`${name}: ${value}`) : shell(`${name}: ${value}`)}`);
    if (body !== undefined) lines.push(`-d ${shell(body)}`);
    return lines.join(" \\\n  ");
  },

  Python({ method, url, headers, body }) {
    const { "Content-Type": _, ...rest } = headers;
    const value = body === undefined ? undefined : parsed(body);
    const lines = ["import os, requests", "", `answer = requests.${method.toLowerCase()}(`, `    ${quoted(url)},`];
    const written = Object.entries(rest).map(([name, it]) => `${quoted(name)}: ${secret(it, (word) => `f"${it.replace(word, `{os.environ['${word.slice(1)}']}`)}"`)}`);
    if (written.length) lines.push(`    headers={${written.join(", ")}},`);
    if (value !== undefined) lines.push(`    json=${python(value, 1)},`);
    else if (body !== undefined) lines.push(`    data=${quoted(body)},`);
    lines.push(")", "answer.raise_for_status()");
    return lines.join("\n");
  },

  JavaScript({ method, url, headers, body }) {
    const value = body === undefined ? undefined : parsed(body);
    const written = Object.entries(headers).map(([name, it]) => `    ${quoted(name)}: ${secret(it, (word) => `\`${it.replace(word, `\${process.env.${word.slice(1)}}`)}\``)},\n`);
    const lines = [`const answer = await fetch(${quoted(url)}, {`];
    if (method !== "GET") lines.push(`  method: ${quoted(method)},`);
    if (written.length) lines.push(`  headers: {\n${written.join("")}  },`);
    if (value !== undefined) lines.push(`  body: JSON.stringify(${JSON.stringify(value, null, 2).replaceAll("\n", "\n  ")}),`);
    else if (body !== undefined) lines.push(`  body: ${quoted(body)},`);
    lines.push("});", "if (!answer.ok) throw new Error((await answer.json()).detail);");
    return lines.join("\n");
  },
};

/** Writes a header value that contains an environment variable in the syntax of the language. */
function secret(value, write) {
  const word = /\$TINTYPE_[A-Z]+/.exec(value);
  return word ? write(word[0]) : quoted(value);
}

export const languages = Object.keys(WRITERS);

/** The code of a request in a language. */
export const sample = (language, request) => WRITERS[language](request);
