"""A schemathesis hook that rewrites every generated URL to this machine, to a port without a listener."""

import re

import schemathesis


def to_loopback(text):
    """Replaces only the host, so that faults in the rest of the URL remain."""
    if not isinstance(text, str):
        return text
    return re.sub(r"^(\s*https?:/*)[^/?#]*", r"\g<1>127.0.0.1:9", text, flags=re.IGNORECASE)


@schemathesis.serializer("application/x-ndjson")
def lines(context, value):
    """JSON lines, which schemathesis only knows as text."""
    text = value if isinstance(value, str) else str(value)
    return re.sub(r"https?:/*[^/?#\"]*", "http://127.0.0.1:9", text, flags=re.IGNORECASE).encode(errors="ignore")


def rewrite_inputs(body):
    urls = body.get("input_images_urls")
    if isinstance(urls, list):
        body["input_images_urls"] = [to_loopback(it) for it in urls]


@schemathesis.hook
def before_call(context, case, kwargs):
    body = case.body
    if not isinstance(body, dict):
        return
    for name in ("url", "callback_url"):
        if name in body:
            body[name] = to_loopback(body[name])
    rewrite_inputs(body)
    requests = body.get("requests")
    for request in requests if isinstance(requests, list) else []:
        if isinstance(request, dict):
            rewrite_inputs(request)
