// Code samples of a call.

const PATHS = { fast: "nb/", quality: "nb2/", pro: "" };

export const endpoint = (tier, body) => `/api/v1/${PATHS[tier]}${body.input_images_urls ? "url" : "text"}-generations`;

const shell = (text) => `'${text.replaceAll("'", "'\\''")}'`;
const PYTHON = { true: "True", false: "False", null: "None" };
/** JSON as a Python literal: replaces true, false and null outside of strings. */
const python = (body) => JSON.stringify(body, null, 4)
  .replace(/[\u007f-\uffff]/g, (it) => `\\u${it.charCodeAt(0).toString(16).padStart(4, "0")}`)
  .replace(/"(?:[^"\\]|\\.)*"|true|false|null/g, (it) => PYTHON[it] ?? it);

const WRITERS = {
  curl: (url, key, body) => `curl -s ${shell(url)} \\
  -H "Authorization: Bearer ${key}" \\
  -H 'Content-Type: application/json' \\
  -d ${shell(JSON.stringify(body))}`,

  Python: (url, key, body, base) => `import time, requests

base = "${base}"
auth = {"Authorization": "Bearer ${key}"}
answer = requests.post("${url}", headers=auth, json=${python(body)})
answer.raise_for_status()
job = answer.json()
while job["status"] not in ("done", "failed"):
    time.sleep(2)
    job = requests.get(f"{base}/api/v1/jobs/{job['job_id']}", headers=auth).json()
print(job["result"]["image_url"] if job["status"] == "done" else job["error"])`,

  JavaScript: (url, key, body, base) => `const base = "${base}";
const headers = { Authorization: "Bearer ${key}", "Content-Type": "application/json" };
const answer = await fetch("${url}", {
  method: "POST", headers, body: JSON.stringify(${JSON.stringify(body, null, 2)}),
});
if (!answer.ok) throw new Error((await answer.json()).detail);
let job = await answer.json();
while (!["done", "failed"].includes(job.status)) {
  await new Promise((wake) => setTimeout(wake, 2000));
  job = await (await fetch(\`\${base}/api/v1/jobs/\${job.job_id}\`, { headers })).json();
}
console.log(job.result?.image_url ?? job.error);`,
};

export const languages = Object.keys(WRITERS);

/** A program for a call. */
export const snippet = (language, { tier, body, key = "$TINTYPE_KEY" }, base) =>
  WRITERS[language](`${base}${endpoint(tier, body)}`, language === "curl" ? key : key.replace("$TINTYPE_KEY", "YOUR_KEY"), body, base);
