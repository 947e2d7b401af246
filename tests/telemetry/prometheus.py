"""A real Prometheus reads the metrics of the real program: promtool accepts them, and a Prometheus on loopback that scrapes the program
answers every query of the dashboard and evaluates every alert. It scrapes the program under two addresses, like two nodes that report
the same jobs and money.

Run by tests/compat/served.py, which starts the program.
"""

import json
import os
import pathlib
import random
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
URL = os.environ["TINTYPE_URL"]
TIMEOUT = 60


def call(url, body=None, key=None):
    headers = {"Content-Type": "application/json"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(url, data, headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.read().decode()


def images(count):
    """Runs jobs, so that the counters are not zero."""
    key = os.environ["TINTYPE_KEY"]
    for _ in range(count):
        body = {"prompt": "a red fox in the snow", "aspect_ratio": "1:1"}
        job = json.loads(call(f"{URL}/api/v1/nb/text-generations", body, key))["job_id"]
        call(f"{URL}/api/v1/jobs/{job}?wait=30", key=key)


def promtool(*arguments, text=None):
    done = subprocess.run(["promtool", *arguments], input=text, capture_output=True, text=True, cwd=DEPLOY / "prometheus")
    if done.returncode or (text and (done.stdout or done.stderr)):
        raise SystemExit(f"promtool {' '.join(arguments)}:\n{done.stdout}{done.stderr}")


def free_port():
    """A port below those that Linux gives to clients, so that no other process takes it before Prometheus listens."""
    for port in random.sample(range(20_000, 30_000), 1_000):
        with socket.socket() as taken:
            if taken.connect_ex(("127.0.0.1", port)):
                return port
    raise SystemExit("no port is free")


def instances():
    """Two addresses of the program."""
    address = URL.removeprefix("http://")
    return [address, address.replace("127.0.0.1", "localhost")]


def until(what, look):
    deadline = time.monotonic() + TIMEOUT
    while time.monotonic() < deadline:
        try:
            if found := look():
                return found
        except OSError:
            pass
        time.sleep(0.2)
    raise SystemExit(f"timed out waiting until {what}")


# Metrics that describe all nodes, without those that are rates.
OF_ALL_NODES = re.compile(r"tintype_(accounts|jobs\{|jobs_live\{|ledger_(?!charged)|paused|backend_paused|all_backends_paused)")


def queries(instance=".*"):
    """The queries of the panels, with the variables filled in as by Grafana."""
    dashboard = json.loads((DEPLOY / "grafana/dashboard.json").read_text())
    asked = [(panel["title"], it["expr"]) for panel in dashboard["panels"] for it in panel.get("targets", [])]
    asked += [(it["name"], it["expr"]) for it in dashboard["annotations"]["list"]]
    for title, query in asked:
        for variable, value in {"$__rate_interval": "20s", "$job": ".*", "$instance": instance}.items():
            query = query.replace(variable, value)
        yield title, query


def watched(prometheus):
    def get(path, **parameters):
        query = urllib.parse.urlencode(parameters)
        return json.loads(call(f"{prometheus}/api/v1/{path}?{query}"))["data"]

    def value(query):
        found = get("query", query=query)["result"]
        return float(found[0]["value"][1]) if found else 0

    until("Prometheus has scraped three times", lambda: value('min(count_over_time(up{job="tintype"}[1m]))') >= 3)
    assert value('sum(up{job="tintype"})') == 2
    ended = "min(sum by (instance) (tintype_jobs_ended_total))"
    scraped = value(ended)
    images(2)
    until("the new images are seen", lambda: value(ended) == scraped + 2)
    of_all = zip(queries(), queries(instances()[0]))
    of_all = [(title, both, one) for (title, both), (_, one) in of_all if OF_ALL_NODES.search(both)]
    assert len(of_all) >= 9, of_all
    for title, both, one in of_all:
        until(f"«{title}» shows one service: {both}", lambda: value(both) == value(one))
    answered = 0
    for title, query in queries():
        # Restarts: there is none.
        if not get("query", query=query)["result"] and title != "Restarts":
            raise SystemExit(f"nothing to show in «{title}»: {query}")
        answered += 1
    rules = until("the alerts are evaluated", lambda: evaluated(get("rules")["groups"]))
    firing = [rule["name"] for rule in rules if rule["state"] == "firing"]
    assert not firing, firing
    print(f"{answered} queries answered, {len(rules)} alerts evaluated, none fires")


def evaluated(groups):
    rules = [rule for group in groups for rule in group["rules"]]
    broken = [f"{rule['name']}: {rule['lastError']}" for rule in rules if rule["health"] == "err"]
    if broken:
        raise SystemExit("\n".join(broken))
    return rules if rules and all(rule["health"] == "ok" for rule in rules) else None


def main():
    images(3)
    # A backup reads the same export.
    call(f"{URL}/admin/v1/export", key=os.environ["TINTYPE_ADMIN_TOKEN"])
    promtool("check", "metrics", text=call(f"{URL}/metrics"))
    promtool("check", "rules", "alerts.yml")
    promtool("test", "rules", "alerts_test.yml")
    promtool("check", "config", "prometheus.yml")
    with tempfile.TemporaryDirectory() as directory:
        config = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(DEPLOY / "prometheus/alerts.yml")],
            "scrape_configs": [
                {"job_name": "tintype", "static_configs": [{"targets": instances()}]}
            ],
        }
        # JSON is YAML as well.
        (pathlib.Path(directory) / "prometheus.yml").write_text(json.dumps(config))
        address = f"127.0.0.1:{free_port()}"
        command = [
            "prometheus",
            f"--config.file={directory}/prometheus.yml",
            f"--storage.tsdb.path={directory}/data",
            f"--web.listen-address={address}",
            "--log.level=error",
        ]
        prometheus = subprocess.Popen(command)
        try:
            watched(f"http://{address}")
        finally:
            prometheus.terminate()
            prometheus.wait(timeout=30)
    return 0


if __name__ == "__main__":
    sys.exit(main())
