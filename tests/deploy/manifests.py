"""Checks the files of deploy/: those that start several nodes parse, are consistent, and Tintype and HAProxy accept them; no proxy
logs queries. Starts nothing.

Needs PyYAML and HAProxy; uses kubectl if it is installed.
"""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
BINARY = os.environ.get("TINTYPE_BIN", ROOT / "target/debug/tintype")
SECRET = "what-the-nodes-of-a-test-have-in-common"


def documents(path):
    return [it for it in yaml.safe_load_all(path.read_text()) if it]


def check_config(config, environment):
    """Runs `tintype check-config`, and returns the effective values."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("TINTYPE")}
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run([BINARY, "check-config", *config], cwd=directory, env=plain | environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def interpolated(text):
    """Interpolates variables as Compose does, with dummy values for required ones."""
    made_up = {"TINTYPE_SECRET": SECRET, "TINTYPE_OBJECTS": "s3://bucket/prefix"}

    def value(found):
        name, kind, rest = re.fullmatch(r"(\w+)(:[-?])?(.*)", found[1]).groups()
        return made_up.get(name, rest if kind == ":-" else "x")

    return re.sub(r"\$\{([^}]*)\}", value, text)


def all_files_can_be_read():
    files = [*DEPLOY.rglob("*.yaml"), *DEPLOY.rglob("*.yml")]
    assert len(files) > 8, files
    for path in files:
        assert documents(path), path


def the_compose_file_fits_together():
    compose = documents(DEPLOY / "compose.nodes.yaml")[0]
    services, volumes = compose["services"], compose["volumes"]
    nodes = [name for name in services if name.startswith("node-")]
    assert len(nodes) == 3, nodes
    for name, service in services.items():
        for other in service.get("depends_on", []):
            assert other in services, (name, other)
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert source in volumes or (DEPLOY / source).is_file(), (name, volume)
        # A condition of Compose needs a health check.
        assert name not in services["node-a"]["depends_on"] or "healthcheck" in service, name
    # The temporary server of the first start listens on a socket only.
    assert services["database"]["healthcheck"]["test"][-2:] == ["-h", "127.0.0.1"]
    variables = {name: value for name, value in services["node-a"]["environment"].items() if value is not None}
    effective = check_config([], {name: interpolated(str(value)) for name, value in variables.items()})
    assert 'url = "postgres://tintype@database/tintype"' in effective, effective
    # The balancer alone: all callers reach it through the gateway of its network.
    address = services["balancer"]["networks"]["default"]["ipv4_address"]
    assert f'trusted_proxies = ["{address}/32"]' in effective, effective
    balancer = (DEPLOY / "proxy/haproxy.nodes.cfg").read_text()
    # For calls, and for the panel.
    assert re.findall(r"server \w+ (\S+):8080", balancer) == 2 * nodes, balancer


def haproxy_accepts_its_configurations():
    for name in ["haproxy.cfg", "haproxy.nodes.cfg"]:
        path = DEPLOY / "proxy" / name
        done = subprocess.run(["haproxy", "-c", "-f", path], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "option httpchk GET /readyz" in path.read_text(), name
        # Tintype decodes paths, so that /%6detrics is /metrics.
        assert "status 404 if { path,url_dec /metrics }" in path.read_text(), name


def the_proxies_log_no_query():
    """Queries contain API keys and signatures of download URLs."""
    nginx = (DEPLOY / "proxy/nginx.conf").read_text()
    format = re.search(r"^log_format tintype '(.*)';$", nginx, re.MULTILINE)[1]
    assert not re.search(r"\$(request|request_uri|args|query_string|http_referer)\b", format), format
    servers = nginx.split("\nserver {")[1:]
    assert len(servers) == 2, servers
    for server in servers:
        assert re.search(r"access_log \S+ tintype;", server) and re.search(r"error_log \S+ crit;", server), server
    assert "request>uri regexp" in (DEPLOY / "proxy/Caddyfile").read_text()
    for name in ["haproxy.cfg", "haproxy.nodes.cfg"]:
        assert not re.search(r"^\s*(log|log-format)\s", (DEPLOY / "proxy" / name).read_text(), re.MULTILINE), name


def the_compose_files_leave_the_address_to_the_configuration():
    for name, service in [("compose.yaml", "tintype"), ("compose.nodes.yaml", "node-a")]:
        given = documents(DEPLOY / name)[0]["services"][service]["environment"]
        # A variable, even an empty one, overrides the file of the operator. Compose omits one without a value that is not set.
        assert given["TINTYPE__SERVER__PUBLIC_URL"] is None, (name, given)


def a_stop_is_given_the_time_that_it_takes():
    grace = int(re.search(r"^shutdown_grace_seconds = (\d+)", (ROOT / "config.toml").read_text(), re.MULTILINE)[1])
    for name, service in [("compose.yaml", "tintype"), ("compose.nodes.yaml", "node-a")]:
        given = documents(DEPLOY / name)[0]["services"][service]["stop_grace_period"]
        assert int(given.removesuffix("s")) > grace, (name, given)
    assert int(re.search(r"^TimeoutStopSec=(\d+)", (DEPLOY / "tintype.service").read_text(), re.MULTILINE)[1]) > grace


def the_manifests_fit_together():
    folder = DEPLOY / "kubernetes"
    kustomization = documents(folder / "kustomization.yaml")[0]
    found = {it["kind"]: it for name in kustomization["resources"] for it in documents(folder / name)}
    assert len(found) == len(kustomization["resources"]) == len(list(folder.glob("*.yaml"))) - 1, found.keys()
    deployment = found["Deployment"]
    template = deployment["spec"]["template"]
    labels = template["metadata"]["labels"]
    for selector in [
        deployment["spec"]["selector"]["matchLabels"],
        found["Service"]["spec"]["selector"],
        found["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"],
    ]:
        assert selector.items() <= labels.items(), selector
    # The variables that Kubernetes would pass for the Service begin with TINTYPE_.
    assert template["spec"]["enableServiceLinks"] is False
    # Otherwise an outage of the database, in which no node is ready, blocks the draining of machines.
    assert found["PodDisruptionBudget"]["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"
    container = template["spec"]["containers"][0]
    ports = {it["name"] for it in container["ports"]}
    assert found["Service"]["spec"]["ports"][0]["targetPort"] in ports
    for probe, path in [("startupProbe", "/healthz"), ("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")]:
        asked = container[probe]["httpGet"]
        assert asked["path"] == path and asked["port"] in ports, probe
    volumes = {it["name"]: it for it in template["spec"]["volumes"]}
    assert {it["name"] for it in container["volumeMounts"]} == set(volumes)
    assert volumes["config"]["configMap"]["name"] == kustomization["configMapGenerator"][0]["name"]
    assert container["image"] == kustomization["images"][0]["name"]
    pause = container["lifecycle"]["preStop"]["sleep"]["seconds"]
    config = folder / kustomization["configMapGenerator"][0]["files"][0]
    effective = check_config(["--config", config], {"TINTYPE_SECRET": SECRET, "AWS_REGION": "us-east-1"})
    grace = int(re.search(r"shutdown_grace_seconds = (\d+)", effective)[1])
    assert template["spec"]["terminationGracePeriodSeconds"] > pause + grace
    scaler = found["HorizontalPodAutoscaler"]["spec"]
    target = scaler["scaleTargetRef"]
    assert (target["kind"], target["name"]) == ("Deployment", deployment["metadata"]["name"])
    metric = scaler["metrics"][0]["external"]["metric"]["name"]
    assert f"`{metric}`" in (ROOT / "docs/monitoring.md").read_text(), metric
    if shutil.which("kubectl"):
        built = subprocess.run(["kubectl", "kustomize", folder], capture_output=True, text=True)
        assert built.returncode == 0, built.stderr
        kinds = {it["kind"] for it in yaml.safe_load_all(built.stdout)}
        assert kinds == {*found, "ConfigMap"}, kinds


if __name__ == "__main__":
    for check in [
        all_files_can_be_read,
        the_compose_file_fits_together,
        the_compose_files_leave_the_address_to_the_configuration,
        haproxy_accepts_its_configurations,
        the_proxies_log_no_query,
        a_stop_is_given_the_time_that_it_takes,
        the_manifests_fit_together,
    ]:
        check()
        print(f"passed: {check.__name__}")
