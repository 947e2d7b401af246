"""For schemathesis: every URL that it makes up names this machine instead, at a port where nobody listens."""

import re

import schemathesis


def turned(text):
    """Only the host is replaced: what is wrong with the rest stays wrong."""
    if not isinstance(text, str):
        return text
    return re.sub(r"^(\s*https?:/*)[^/?#]*", r"\g<1>127.0.0.1:9", text, flags=re.IGNORECASE)


@schemathesis.hook
def before_call(context, case, kwargs):
    body = case.body
    if not isinstance(body, dict):
        return
    for name in ("url", "callback_url"):
        if name in body:
            body[name] = turned(body[name])
    urls = body.get("input_images_urls")
    if isinstance(urls, list):
        body["input_images_urls"] = [turned(it) for it in urls]
