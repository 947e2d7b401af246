// The same call as programs to copy, and programs that check a delivery.

const PATHS = { fast: "nb/", quality: "nb2/", pro: "" };

/** The path of a native call, below the service's address. */
export const endpoint = (tier, body) => `/api/v1/${PATHS[tier]}${body.input_images_urls ? "url" : "text"}-generations`;

const shell = (text) => `'${text.replaceAll("'", "'\\''")}'`;
/** JSON that is also Python but for null, true and false, which no call here has. */
const python = (body) => JSON.stringify(body, null, 4).replace(/[\u007f-\uffff]/g, (it) => `\\u${it.charCodeAt(0).toString(16).padStart(4, "0")}`);

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

/** A call as a program of that language. */
export const snippet = (language, { tier, body, key = "$TINTYPE_KEY" }, base) =>
  WRITERS[language](`${base}${endpoint(tier, body)}`, language === "curl" ? key : key.replace("$TINTYPE_KEY", "YOUR_KEY"), body, base);

/** Receivers that check X-Signature. */
export const verifiers = {
  Python: `import hashlib, hmac, json, time

def verify(headers, body: bytes, secret: str) -> bool:
    stamp = headers["X-Timestamp"]
    if abs(time.time() - int(stamp)) > 300:
        return False
    text = json.dumps(json.loads(body), sort_keys=True, separators=(",", ":"))
    mac = hmac.new(secret.encode(), f"{stamp}.{text}".encode(), hashlib.sha256)
    return hmac.compare_digest("sha256=" + mac.hexdigest(), headers["X-Signature"])`,

  Node: `import { createHmac, timingSafeEqual } from "node:crypto";

// body: the raw bytes, which are sent exactly as they are signed.
export function verify(headers, body, secret) {
  const stamp = headers["x-timestamp"];
  if (Math.abs(Date.now() / 1000 - Number(stamp)) > 300) return false;
  const mac = createHmac("sha256", secret).update(stamp + ".").update(body).digest("hex");
  const wanted = Buffer.from("sha256=" + mac);
  const given = Buffer.from(headers["x-signature"] ?? "");
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}`,

  Go: `func verify(h http.Header, body []byte, secret string) bool {
	stamp := h.Get("X-Timestamp")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || math.Abs(float64(time.Now().Unix()-seconds)) > 300 {
		return false
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(stamp + "."))
	mac.Write(body) // the raw bytes, which are sent exactly as they are signed
	wanted := "sha256=" + hex.EncodeToString(mac.Sum(nil))
	return hmac.Equal([]byte(wanted), []byte(h.Get("X-Signature")))
}`,

  Ruby: `require "openssl"

# body: the raw bytes, which are sent exactly as they are signed.
def verify(headers, body, secret)
  stamp = headers["X-Timestamp"]
  return false if (Time.now.to_i - stamp.to_i).abs > 300
  wanted = "sha256=" + OpenSSL::HMAC.hexdigest("SHA256", secret, stamp + "." + body)
  OpenSSL.secure_compare(wanted, headers["X-Signature"].to_s)
end`,

  PHP: `// $body: the raw bytes, which are sent exactly as they are signed.
function verify(array $headers, string $body, string $secret): bool {
    $stamp = $headers['X-Timestamp'];
    if (abs(time() - (int) $stamp) > 300) return false;
    $wanted = 'sha256=' . hash_hmac('sha256', $stamp . '.' . $body, $secret);
    return hash_equals($wanted, $headers['X-Signature'] ?? '');
}`,
};
