#!/usr/bin/env python3
"""Runs the Go and the PHP of docs/webhooks.md on the golden deliveries, and shows why they must verify the raw bytes: what the
encoders of these languages write of a parsed body does not verify.

Usage: documentation_raw.py
"""

import base64
import hashlib
import hmac
import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
SECRET, SENT = "whsec_raw", 1_795_000_000
# Text that encoders escape differently.
ESCAPED = '{"error":null,"job_id":"j","metadata":{"q":"<a> & b"},"result":{"image_url":"https://x.example/1.png"},"status":"done"}'

GO = """package receiver

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"
)

type check struct {
	Secret, Timestamp, Signature, Body string
	Now                                int64
	Rewrite                            bool
}

func TestChecks(t *testing.T) {
	text, _ := os.ReadFile("checks.json")
	var checks []check
	if err := json.Unmarshal(text, &checks); err != nil {
		t.Fatal(err)
	}
	results := []bool{}
	for _, c := range checks {
		body, _ := base64.StdEncoding.DecodeString(c.Body)
		if c.Rewrite {
			var parsed map[string]any
			json.Unmarshal(body, &parsed)
			body, _ = json.Marshal(parsed)
		}
		header := http.Header{}
		header.Set("X-Timestamp", c.Timestamp)
		header.Set("X-Signature", c.Signature)
		results = append(results, Verify(c.Secret, header, body, time.Unix(c.Now, 0)))
	}
	written, _ := json.Marshal(results)
	fmt.Println("results:" + string(written))
}
"""

PHP = """
$results = [];
foreach (json_decode(file_get_contents('checks.json'), true) as $c) {
    $body = base64_decode($c['Body']);
    if ($c['Rewrite']) $body = json_encode(json_decode($body));
    $headers = ['X-Timestamp' => $c['Timestamp'], 'X-Signature' => $c['Signature']];
    $results[] = verify($c['Secret'], $headers, $body, $c['Now']);
}
echo 'results:' . json_encode($results) . "\\n";
"""


def signature(secret: str, timestamp: str, body: bytes) -> str:
    return "sha256=" + hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def check(what: str, expected: bool, body: bytes, secret: str = SECRET, sent: str = str(SENT), late: int = 0, **given) -> dict:
    return {
        "what": what,
        "expected": expected,
        "Secret": given.get("key", secret),
        "Timestamp": given.get("timestamp", sent),
        "Signature": given.get("signature") or signature(secret, sent, body),
        "Body": base64.b64encode(given.get("arrived", body)).decode(),
        "Now": (int(sent) if sent.isdigit() else SENT) + late,
        "Rewrite": given.get("rewrite", False),
    }


def checks() -> list[dict]:
    vectors = json.loads((HERE / "golden.json").read_text(encoding="utf-8"))["vectors"]
    found = [
        check(it["name"], True, it["body"].encode(), it["secrets"][0], str(it["timestamp"]), signature=it["x_signature"])
        for it in vectors
    ]
    body = ESCAPED.encode()
    for late, holds in ((300, True), (-300, True), (301, False), (-301, False)):
        found.append(check(f"{late:+} s", holds, body, late=late))
    found.append(check("a changed body", False, body, arrived=body + b" "))
    found.append(check("another secret", False, body, key=SECRET + "x"))
    found.append(check("an empty secret, with which anyone can sign", False, body, secret=""))
    for timestamp in ("", "now", f"{SENT}\n", f"+{SENT}", "1" * 5_000, "١٧٩٥"):
        found.append(check(f"the timestamp {timestamp[:12]!r}", False, body, sent=str(SENT), timestamp=timestamp))
    found.append(check("no signature", False, body, signature="sha256="))
    found.append(check("the raw bytes of what encoders escape", True, body))
    found.append(check("the same after parsing and encoding", False, body, rewrite=True))
    return found


def block(language: str) -> str:
    text = (HERE / "../../docs/webhooks.md").read_text(encoding="utf-8")
    [found] = re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return found


def results(directory: pathlib.Path, command: list[str]) -> list[bool]:
    ended = subprocess.run(command, cwd=directory, stdout=subprocess.PIPE, text=True, timeout=300, check=True)
    [line] = re.findall(r"^results:(.*)$", ended.stdout, re.MULTILINE)
    return json.loads(line)


def main() -> int:
    asked = checks()
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        (directory / "checks.json").write_text(json.dumps(asked), encoding="utf-8")
        (directory / "go.mod").write_text("module receiver\n\ngo 1.19\n")
        (directory / "receiver.go").write_text(block("go"), encoding="utf-8")
        (directory / "receiver_test.go").write_text(GO)
        (directory / "receiver.php").write_text(block("php") + PHP, encoding="utf-8")
        answers = {
            "Go": results(directory, ["go", "test", "-v", "-count=1", "."]),
            "PHP": results(directory, ["php", "-n", "receiver.php"]),
        }
    failed = [
        f"{language}: {it['what']}"
        for language, found in answers.items()
        for it, holds in zip(asked, found, strict=True)
        if holds != it["expected"]
    ]
    for fault in failed:
        print(f"FAILED {fault}")
    total = sum(len(found) for found in answers.values())
    print(f"{total - len(failed)} passed, {len(failed)} failed")
    return 1 if failed or total < 40 else 0


if __name__ == "__main__":
    sys.exit(main())
