"""Google's Interactions API with the Python SDK, a part of sdk.py."""

import base64
import time
from io import BytesIO

from PIL import Image


def opened(interaction) -> tuple:
    """Format and size of the image, by the SDK's own helper."""
    image = Image.open(BytesIO(base64.b64decode(interaction.output_image.data)))
    return image.format, image.size


def interactions(client, check, png) -> None:
    api, fast = client.interactions, {"model": "fast", "input": "a red fox"}
    response = {"type": "image", "aspect_ratio": "16:9", "image_size": "2K", "mime_type": "image/jpeg"}
    first = api.create(model="pro", input="a red fox", response_format=response)
    check("an interaction", first.status == "completed" and opened(first) == ("JPEG", (2752, 1536)))
    check("its usage", first.usage.total_tokens > 0 and first.model == "pro")
    second = api.create(model="pro", input="with a hat", previous_interaction_id=first.id)
    check("the shape of the previous one", opened(second) == ("PNG", (1376, 768)))
    check("it is found again", api.get(second.id).output_image == second.output_image)
    data = base64.b64encode(png(90, 160)).decode()
    content = [{"type": "text", "text": "make it blue"}, {"type": "image", "data": data}]
    check("an input image", opened(api.create(model="pro", input=content)) == ("PNG", (768, 1376)))
    started = api.create(**fast, background=True)
    while (ended := api.get(started.id)).status == "in_progress":
        time.sleep(0.1)
    check("a background interaction", started.status == "in_progress" and opened(ended) == ("PNG", (1024, 1024)))
    check("a cancellation after the end", api.cancel(started.id).status == "completed")
    events = list(api.create(**fast, stream=True))
    images = [it.delta.data for it in events if it.event_type == "step.delta" and it.delta.type == "image"]
    check("a stream", len(images) == 1 and events[-1].interaction.status == "completed")
    check("a deletion", api.delete(started.id) is None)
    refused(check, "no longer stored", lambda: api.get(started.id))
    refused(check, "agent is not supported", lambda: api.create(agent="a", input="a"))


def refused(check, reason: str, call) -> None:
    try:
        call()
        check(f"{reason}: it is refused", False)
    except Exception as error:
        check(f"{reason}: {type(error).__name__} {error}", reason in str(error))
