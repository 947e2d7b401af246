"""For schemathesis: every URL that it makes up names this machine instead, at a port where nobody listens."""

import re

import schemathesis


def turned(text):
    """Only the host is replaced: what is wrong with the rest stays wrong."""
    if not isinstance(text, str):
        return text
    return re.sub(r"^(\s*https?:/*)[^/?#]*", r"\g<1>127.0.0.1:9", text, flags=re.IGNORECASE)


@schemathesis.serializer("application/x-ndjson")
def lines(context, value):
    """Lines of JSON, which schemathesis knows as text alone."""
    text = value if isinstance(value, str) else str(value)
    return re.sub(r"https?:/*[^/?#\"]*", "http://127.0.0.1:9", text, flags=re.IGNORECASE).encode(errors="ignore")


def turn_inputs(body):
    urls = body.get("input_images_urls")
    if isinstance(urls, list):
        body["input_images_urls"] = [turned(it) for it in urls]


@schemathesis.hook
def before_call(context, case, kwargs):
    body = case.body
    if not isinstance(body, dict):
        return
    for name in ("url", "callback_url"):
        if name in body:
            body[name] = turned(body[name])
    turn_inputs(body)
    requests = body.get("requests")
    for request in requests if isinstance(requests, list) else []:
        if isinstance(request, dict):
            turn_inputs(request)
