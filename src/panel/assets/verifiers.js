// Programs that verify X-Signature, each with the test vector that it must accept.

/** A recorded delivery and its secret. */
export const vector = {
  secret: "whsec_UuxJadGcYm6QIQoC+HtoFgs5yfSPohtlbQHQFFJvlqM=",
  now: 1795000150,
  signature: "sha256=415baa7eef92159c9cd512122d51f95ffddfb74c6422f34c3dc22d6c779b0b11",
  body: String.raw`{"error":null,"job_id":"01a1ee56-5e00-72ec-8969-d19c626e9021","metadata":{"caf\u00e9":"cr\u00e8me"},"result":{"image_url":"https://tintype.example/files/results%2Fa.png?expires=1795086400&signature=00ff"},"status":"done"}`,
};
const { secret, now, signature, body } = vector;

/** The vector as an HTTP request. */
export const recorded = `X-Timestamp: ${now}
X-Signature: ${signature}

${body}`;

export const verifiers = {
  Python: `import hashlib
import hmac
import re
import time


# body: the raw bytes, which are sent exactly as they are signed.
def verify(headers, body, secret, now=None):
    stamp = headers.get("X-Timestamp", "")
    # An unset variable gives an empty secret, which every attacker knows.
    if not secret or not re.fullmatch("[0-9]{1,15}", stamp) or abs((now or time.time()) - int(stamp)) > 300:
        return False
    mac = hmac.new(secret.encode(), stamp.encode() + b"." + body, hashlib.sha256)
    wanted = "sha256=" + mac.hexdigest()
    return hmac.compare_digest(wanted.encode(), headers.get("X-Signature", "").encode())


# The test vector; prints True.
headers = {"X-Timestamp": "${now}", "X-Signature": "${signature}"}
body = rb'${body}'
print(verify(headers, body, "${secret}", now=${now}))`,

  JavaScript: `import { createHmac, timingSafeEqual } from "node:crypto";

// headers: with names in lower case; body: the raw bytes, which are sent exactly as they are signed.
export function verify(headers, body, secret, now = Date.now() / 1000) {
  const stamp = headers["x-timestamp"] ?? "";
  // An unset variable gives an empty secret, which every attacker knows.
  if (!secret || !/^[0-9]{1,15}$/.test(stamp) || Math.abs(now - Number(stamp)) > 300) return false;
  const mac = createHmac("sha256", secret).update(stamp + ".").update(body).digest("hex");
  const wanted = Buffer.from("sha256=" + mac);
  const given = Buffer.from(headers["x-signature"] ?? "");
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

// The test vector; prints true.
const headers = { "x-timestamp": "${now}", "x-signature": "${signature}" };
const body = String.raw\`${body}\`;
console.log(verify(headers, body, "${secret}", ${now}));`,

  Go: `package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Verify checks a delivery. The body is the raw bytes, which are sent exactly as they are signed.
func Verify(h http.Header, body []byte, secret string, now time.Time) bool {
	stamp := h.Get("X-Timestamp")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	// An unset variable gives an empty secret, which every attacker knows.
	if secret == "" || err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > 300*time.Second {
		return false
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(stamp + "."))
	mac.Write(body)
	wanted := "sha256=" + hex.EncodeToString(mac.Sum(nil))
	return hmac.Equal([]byte(wanted), []byte(h.Get("X-Signature")))
}

// The test vector; prints true. A receiver passes time.Now().
func main() {
	h := http.Header{}
	h.Set("X-Timestamp", "${now}")
	h.Set("X-Signature", "${signature}")
	body := []byte(\`${body}\`)
	fmt.Println(Verify(h, body, "${secret}", time.Unix(${now}, 0)))
}`,

  Ruby: `require "openssl"

# body: the raw bytes, which are sent exactly as they are signed.
def verify(headers, body, secret, now = Time.now.to_i)
  stamp = headers["X-Timestamp"].to_s
  # An unset variable gives an empty secret, which every attacker knows.
  return false if secret.to_s.empty?
  return false unless stamp.match?(/\\A[0-9]{1,15}\\z/) && (now - stamp.to_i).abs <= 300
  wanted = "sha256=" + OpenSSL::HMAC.hexdigest("SHA256", secret, stamp + "." + body)
  OpenSSL.secure_compare(wanted, headers["X-Signature"].to_s)
end

# The test vector; prints true.
headers = { "X-Timestamp" => "${now}", "X-Signature" => "${signature}" }
body = '${body}'
puts verify(headers, body, "${secret}", ${now})`,

  PHP: `<?php

// $body: the raw bytes, which are sent exactly as they are signed.
function verify(array $headers, string $body, string $secret, ?int $now = null): bool {
    $stamp = $headers['X-Timestamp'] ?? '';
    // An unset variable gives an empty secret, which every attacker knows.
    if ($secret === '' || !preg_match('/^[0-9]{1,15}$/D', $stamp)) return false;
    if (abs(($now ?? time()) - (int) $stamp) > 300) return false;
    $wanted = 'sha256=' . hash_hmac('sha256', $stamp . '.' . $body, $secret);
    return hash_equals($wanted, $headers['X-Signature'] ?? '');
}

// The test vector; prints bool(true).
$headers = ['X-Timestamp' => '${now}', 'X-Signature' => '${signature}'];
$body = '${body}';
var_dump(verify($headers, $body, '${secret}', ${now}));`,
};
