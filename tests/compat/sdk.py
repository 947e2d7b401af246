#!/usr/bin/env python3
"""Drives the Python SDKs google-genai and openai against a running server (see served.py): images, streams and errors. The interactions are in
sdk_interactions.py."""

import asyncio
import base64
import json
import os
import sys
import threading
import time
import urllib.request
from io import BytesIO

import openai
from google import genai
from google.genai import errors, types
from PIL import Image

from sdk_interactions import interactions

URL, KEY = os.environ["TINTYPE_URL"], os.environ["TINTYPE_KEY"]
passed, failed = 0, []


def check(what: str, holds) -> None:
    global passed
    if holds:
        passed += 1
    else:
        failed.append(what)
        print(f"FAILED {what}")


def pause(fast: bool) -> None:
    body = {"project": False, "tiers": {"fast": fast, "quality": False, "pro": False}}
    headers = {"Authorization": f"Bearer {os.environ['TINTYPE_ADMIN_TOKEN']}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{URL}/admin/v1/pause", json.dumps(body).encode(), headers, method="PUT")
    urllib.request.urlopen(request, timeout=30).read()


def png(width: int, height: int) -> bytes:
    file = BytesIO()
    Image.new("RGB", (width, height), "red").save(file, "PNG")
    return file.getvalue()


# A client without references closes its connections, even if its `models` are still in use.
clients = []


def gemini(key: str = KEY, version: str | None = None, **options) -> genai.Client:
    options = types.HttpOptions(base_url=URL, api_version=version, **options)
    clients.append(genai.Client(api_key=key, http_options=options))
    return clients[-1]


def opened(answer) -> Image.Image:
    """The image of an answer, by the SDK's own helper."""
    images = [part.as_image() for part in answer.parts if part.inline_data]
    assert len(images) == 1, answer
    return Image.open(BytesIO(images[0].image_bytes))


def gemini_images() -> None:
    for version in (None, "v1", "v1beta", "v1alpha"):
        answer = gemini(version=version).models.generate_content(model="fast", contents="a red fox")
        check(f"an image under {version}", opened(answer).size == (1024, 1024))
        check("it stops", answer.candidates[0].finish_reason == types.FinishReason.STOP)
        check("its usage", answer.usage_metadata.total_token_count > 0 and answer.model_version == "fast")
        check("its id", len(answer.response_id) == 36)
    config = types.GenerateContentConfig(
        response_modalities=["TEXT", "IMAGE"],
        system_instruction="in ink",
        image_config=types.ImageConfig(aspect_ratio="16:9", image_size="2K"),
    )
    answer = gemini().models.generate_content(model="gemini-3-pro-image", contents="a red fox", config=config)
    check("shape and size", opened(answer).size == (2752, 1536))
    check("a text", answer.text)
    part = types.Part.from_bytes(data=png(160, 90), mime_type="image/png")
    answer = gemini().models.generate_content(model="gemini-3-pro-image", contents=["make it blue", part])
    check("the shape of the input", opened(answer).size == (1376, 768))
    answer = gemini().models.generate_content(model="fast", contents=[Image.new("RGB", (9, 9)), "make it blue"])
    check("an input of PIL", opened(answer).size == (1024, 1024))
    chat = gemini().chats.create(model="gemini-3.1-flash-image")
    chat.send_message("a red fox")
    check("a second turn", opened(chat.send_message("with a hat")).size == (1024, 1024))


def streams() -> None:
    config = types.GenerateContentConfig(response_modalities=["TEXT", "IMAGE"])
    chunks = list(gemini().models.generate_content_stream(model="fast", contents="a red fox", config=config))
    check("two chunks", len(chunks) == 2 and chunks[0].text)
    check("a streamed image", opened(chunks[1]).size == (1024, 1024))
    check("the end", chunks[1].candidates[0].finish_reason == types.FinishReason.STOP)


def models() -> None:
    client = gemini()
    names = [model.name for model in client.models.list()]
    check("all models", len(names) == 9 and "models/gemini-3-pro-image" in names)
    pages = client.models.list(config={"page_size": 2})
    check("pages", [model.name for model in pages] == names)
    model = client.models.get(model="gemini-3-pro-image")
    check("a model", model.name == "models/gemini-3-pro-image" and "generateContent" in model.supported_actions)
    tokens = client.models.count_tokens(model="fast", contents="a red fox in the snow")
    check("tokens", tokens.total_tokens == 6)


def refused(what: str, kind, code: int, status: str, call) -> None:
    try:
        call()
        check(f"{what} is refused", False)
    except errors.APIError as error:
        said = f"{what}: {type(error).__name__} {error.code} {error.status}"
        check(said, type(error) is kind and (error.code, error.status) == (code, status) and error.message)


def make(client: genai.Client, model: str = "fast", **config):
    return client.models.generate_content(model=model, contents="a fox", config=config or None)


def refusals() -> None:
    client, server = errors.ClientError, errors.ServerError
    refused("a bad key", client, 400, "INVALID_ARGUMENT", lambda: make(gemini("bad")))
    large = {"image_size": "4K"}
    refused("a size", client, 400, "INVALID_ARGUMENT", lambda: make(gemini(), image_config=large))
    scoped = gemini(os.environ["TINTYPE_KEY_FAST"])
    refused("another model", client, 403, "PERMISSION_DENIED", lambda: make(scoped, "pro"))
    refused("no model", client, 404, "NOT_FOUND", lambda: make(gemini(), "gemini-1.0-pro"))
    refused("no such model", client, 404, "NOT_FOUND", lambda: gemini().models.get(model="nothing"))
    poor = gemini(os.environ["TINTYPE_KEY_POOR"])
    refused("no money", client, 429, "RESOURCE_EXHAUSTED", lambda: make(poor))
    hurried = gemini(headers={"X-Server-Timeout": "0.001"})
    refused("no time", server, 504, "DEADLINE_EXCEEDED", lambda: make(hurried, "pro", image_config=large))
    pause(True)
    refused("paused", server, 503, "UNAVAILABLE", lambda: make(gemini()))
    stream = lambda: list(gemini().models.generate_content_stream(model="fast", contents="a fox"))
    refused("a paused stream", server, 503, "UNAVAILABLE", stream)
    pause(False)
    for path in ("/api", "/api/v1", "/v1beta"):
        clients.append(genai.Client(api_key=KEY, http_options=types.HttpOptions(base_url=URL + path)))
        try:
            make(clients[-1])
            check("a wrong base URL is refused", False)
        except errors.ClientError as error:
            check(f"a base URL that ends with {path!r}: {error}", "without /api and without a version" in str(error))


def images() -> None:
    client = openai.OpenAI(base_url=f"{URL}/v1", api_key=KEY)
    answer = client.images.generate(model="pro", prompt="a red fox", size="1536x1024")
    check("an image of OpenAI's", Image.open(BytesIO(base64.b64decode(answer.data[0].b64_json))).size == (1264, 848))
    check("its size and usage", answer.size == "1264x848" and answer.usage.total_tokens > 0)
    answer = client.images.generate(model="fast", prompt="a red fox", n=2, response_format="url")
    check("two URLs", len(answer.data) == 2)
    for image in answer.data:
        with urllib.request.urlopen(image.url, timeout=30) as file:
            check("a URL opens", Image.open(file).size == (1024, 1024))
    answer = client.images.edit(model="pro", prompt="make it blue", image=("in.png", png(90, 160), "image/png"))
    check("an edit", Image.open(BytesIO(base64.b64decode(answer.data[0].b64_json))).size == (768, 1376))
    several = [("a.png", png(9, 9), "image/png"), ("b.png", png(9, 9), "image/png")]
    check("an edit of several", client.images.edit(model="fast", prompt="both", image=several).data[0].b64_json)
    check("the models", len(list(client.models.list())) == 9 and client.models.retrieve("pro").id == "pro")


def formats() -> None:
    """The same file format everywhere, and what the built-in generator says in each."""
    client = openai.OpenAI(base_url=f"{URL}/v1", api_key=KEY)
    software = 0x0131

    def checked(what: str, data: bytes, kind: str) -> None:
        image = Image.open(BytesIO(data))
        image.load()
        check(f"{what} is {image.format}", (image.format, image.size) == (kind, (1024, 1024)))
        said = image.text["Software"] if kind == "PNG" else image.getexif().get(software, "")
        check(f"{what} says what drew it: {said}", "no AI model was used" in said)

    sizes = []
    for name, kind in (("png", "PNG"), ("jpeg", "JPEG"), ("webp", "WEBP")):
        answer = client.images.generate(model="fast", prompt="a red fox", output_format=name, quality="high")
        checked(f"an image in {name}", base64.b64decode(answer.data[0].b64_json), kind)
        shown = (answer.output_format, answer.size, answer.background, answer.quality)
        check(f"its options: {shown}", shown == (name, "1024x1024", "opaque", "high"))
        answer = client.images.generate(
            model="fast", prompt="a red fox", output_format=name, response_format="url"
        )
        with urllib.request.urlopen(answer.data[0].url, timeout=30) as file:
            check("its media type", file.headers["Content-Type"] == f"image/{name}")
            checked(f"a URL in {name}", file.read(), kind)
    for compression in (0, 60, 100):
        answer = client.images.generate(
            model="fast", prompt="a red fox", output_format="jpeg", output_compression=compression
        )
        sizes.append(len(answer.data[0].b64_json))
    check(f"smaller files: {sizes}", sizes[0] < sizes[1] < sizes[2])
    image = ("in.png", png(16, 16), "image/png")
    answer = client.images.edit(model="fast", prompt="blue", image=image, output_format="webp", output_compression=50)
    checked("an edit in webp", base64.b64decode(answer.data[0].b64_json), "WEBP")
    try:
        client.images.generate(model="fast", prompt="a red fox", output_compression=50)
        check("a compression of PNG is refused", False)
    except openai.BadRequestError as error:
        check("a compression of PNG is refused", error.code == "invalid_png_output_compression")


def masks() -> None:
    client = openai.OpenAI(base_url=f"{URL}/v1", api_key=KEY)

    def file(image: Image.Image) -> tuple:
        data = BytesIO()
        image.save(data, "PNG")
        return ("a.png", data.getvalue(), "image/png")

    photo = Image.new("RGB", (1024, 1024), (200, 30, 10))
    mask = Image.new("RGBA", (1024, 1024), (0, 0, 0, 255))
    mask.paste((0, 0, 0, 0), (0, 0, 512, 1024))
    answer = client.images.edit(model="fast", prompt="a hat", image=file(photo), mask=file(mask))
    image = Image.open(BytesIO(base64.b64decode(answer.data[0].b64_json)))
    check("pixels are kept where the mask is opaque", image.crop((512, 0, 1024, 1024)).getcolors() == [(512 * 1024, (200, 30, 10))])
    check("and change where it is transparent", len(image.crop((0, 0, 512, 1024)).getcolors(1 << 20)) > 100)
    for what, bad in (("another size", mask.resize((512, 512))), ("no transparency", photo)):
        try:
            client.images.edit(model="fast", prompt="a hat", image=file(photo), mask=file(bad))
            check(f"a mask with {what} is refused", False)
        except openai.BadRequestError as error:
            check(f"a mask with {what} is refused: {error}", "mask" in str(error))


def openai_streams() -> None:
    client = openai.OpenAI(base_url=f"{URL}/v1", api_key=KEY)

    def checked(events: list, kind: type) -> None:
        check(f"one event: {len(events)}", len(events) == 1 and type(events[0]) is kind)
        event = events[0]
        strict = kind.model_validate(event.model_dump(), strict=True)
        check("its members", None not in (strict.created_at, strict.usage.total_tokens, strict.quality))
        check("its options", (event.background, event.output_format, event.size) == ("opaque", "jpeg", "1024x1024"))
        check("its image", Image.open(BytesIO(base64.b64decode(event.b64_json))).format == "JPEG")

    options = {"model": "fast", "output_format": "jpeg", "stream": True, "partial_images": 2}
    stream = client.images.generate(prompt="a red fox", **options)
    checked(list(stream), openai.types.ImageGenCompletedEvent)
    image = ("in.png", png(16, 16), "image/png")
    checked(list(client.images.edit(prompt="make it blue", image=image, **options)), openai.types.ImageEditCompletedEvent)
    try:
        list(client.images.generate(prompt="a red fox", n=2, **options))
        check("several images are refused", False)
    except openai.BadRequestError as error:
        check("several images are refused", error.param == "n")

    async def asynchronous() -> list:
        async with openai.AsyncOpenAI(base_url=f"{URL}/v1", api_key=KEY) as client:
            return [event async for event in await client.images.generate(prompt="a red fox", **options)]

    checked(asyncio.run(asynchronous()), openai.types.ImageGenCompletedEvent)


def responses() -> None:
    """The Responses API: synchronous, streamed and in the background."""
    client = openai.OpenAI(base_url=f"{URL}/v1", api_key=KEY)
    tools = [{"type": "image_generation", "size": "1536x1024", "output_format": "jpeg"}]

    def opened(response) -> Image.Image:
        strict = openai.types.responses.Response.model_validate(response.model_dump(), strict=True)
        (item,) = strict.output
        check("an image call", (item.type, item.status) == ("image_generation_call", "completed"))
        return Image.open(BytesIO(base64.b64decode(item.result)))

    def ended(response):
        while response.status in ("queued", "in_progress"):
            time.sleep(0.2)
            response = client.responses.retrieve(response.id)
        return response

    fox = client.responses.create(model="pro", input="a red fox", tools=tools, metadata={"kind": "fox"})
    image = opened(fox)
    check(f"a response: {image.size}", (image.format, image.size) == ("JPEG", (1264, 848)))
    check("its members", (fox.model, fox.metadata, fox.error) == ("pro", {"kind": "fox"}, None))
    check("its usage", fox.usage.total_tokens > 0 and fox.output_text == "")
    check("it is found", opened(client.responses.retrieve(fox.id)).size == image.size)
    blue = client.responses.create(
        model="pro", input="make it blue", tools=[{"type": "image_generation"}], previous_response_id=fox.id
    )
    check("an edit", (blue.output[0].action, opened(blue).size) == ("edit", (1264, 848)))
    turns = [{"role": "user", "content": "a red fox"}, *blue.output, {"role": "user", "content": "with a hat"}]
    answer = client.responses.create(model="pro", input=turns, tools=tools, background=True)
    check(f"in the background: {answer.status}", answer.background and answer.status in ("queued", "in_progress"))
    check("its image", opened(ended(answer)).size == (1264, 848))
    check("a canceled response stays done", client.responses.cancel(answer.id).status == "completed")
    many = [client.responses.create(model="fast", input=f"fox {it}", tools=tools, background=True) for it in range(9)]
    canceled = [client.responses.cancel(it.id).status for it in many[::-1]]
    check(f"a queued one is canceled: {canceled}", "cancelled" in canceled)
    check("all end", {ended(it).status for it in many} <= {"completed", "cancelled"})
    events = list(client.responses.create(model="fast", input="a red fox", tools=tools, stream=True))
    check("numbered events", [it.sequence_number for it in events] == list(range(8)))
    check("the last event", events[-1].type == "response.completed" and opened(events[-1].response).format == "JPEG")
    with client.responses.stream(model="fast", input="a red fox", tools=tools) as stream:
        check("a stream of the SDK", opened(stream.get_final_response()).format == "JPEG")
    for what, options in (("a text", {}), ("an unknown image", {"tools": tools, "previous_response_id": "resp_x"})):
        try:
            client.responses.create(model="fast", input="a red fox", **options)
            check(f"{what} is refused", False)
        except openai.BadRequestError as error:
            check(f"{what} is refused: {error}", error.param in ("tools", "previous_response_id"))
    try:
        client.responses.retrieve("resp_x")
        check("an unknown response is not found", False)
    except openai.NotFoundError as error:
        check("an unknown response is not found", "resp_x" in str(error))


def image_at_a_url() -> None:
    client = openai.OpenAI(base_url=f"{URL}/v1", api_key=KEY)
    made = client.images.generate(model="pro", prompt="a red fox", size="1536x1024", response_format="url")
    part = types.Part.from_uri(file_uri=made.data[0].url, mime_type="image/png")
    answer = gemini().models.generate_content(model="gemini-3-pro-image", contents=["make it blue", part])
    check("the shape of an image at a URL", opened(answer).size == (1264, 848))


def frail() -> None:
    """What only a backend can be the reason for. A slow stream keeps the only place taken meanwhile."""
    options = types.HttpOptions(base_url=os.environ["TINTYPE_FRAIL_URL"])
    clients.append(genai.Client(api_key=os.environ["TINTYPE_FRAIL_KEY"], http_options=options))
    client = clients[-1]
    of_openai = openai.OpenAI(
        base_url=os.environ["TINTYPE_FRAIL_URL"] + "/v1", api_key=os.environ["TINTYPE_FRAIL_KEY"], max_retries=0
    )
    garbage = lambda: client.models.generate_content(model="fast", contents="garbage")
    refused("garbage of a backend", errors.ServerError, 500, "INTERNAL", garbage)
    chunks = []
    chat = client.chats.create(model="fast")

    def stream() -> None:
        while not chunks:
            try:
                chunks.extend(chat.send_message_stream("slow"))
            except errors.ServerError as error:
                # A request below had the only slot.
                if error.code != 503:
                    raise

    slow = threading.Thread(target=stream)
    slow.start()
    while True:
        # Until the stream has created its job, this request gets the slot, and its image is generated.
        try:
            client.models.generate_content(model="fast", contents="a fox")
        except errors.ServerError as error:
            check("no capacity", (error.code, error.status) == (503, "UNAVAILABLE"))
            break
    try:
        of_openai.images.generate(model="fast", prompt="a fox")
        check("no capacity is refused", False)
    except openai.InternalServerError as error:
        check("no capacity in OpenAI's words", (error.status_code, error.code) == (503, "unavailable"))
    slow.join()
    check("a slow stream has only its image", len(chunks) == 1 and opened(chunks[0]).size == (64, 64))
    # The backend makes smaller images of images.
    check("its chat sends the image again", opened(chat.send_message("with a hat")).size == (32, 32))
    events = list(of_openai.images.generate(model="fast", prompt="slow", stream=True))
    check("a slow stream of OpenAI's", [it.type for it in events] == ["image_generation.completed"])
    try:
        list(of_openai.images.generate(model="fast", prompt="slow garbage", stream=True))
        check("an error in a stream is raised", False)
    except openai.APIError as error:
        said = f"{type(error).__name__}: {error}"
        check(f"an error in a stream is raised: {said}", type(error) is openai.APIError and error.type == "server_error")


def refusals_of_openai() -> None:
    def client(key: str = KEY) -> openai.OpenAI:
        return openai.OpenAI(base_url=f"{URL}/v1", api_key=key, max_retries=0)

    def refused(what: str, kind, code, call) -> None:
        try:
            call()
            check(f"{what} is refused", False)
        except openai.APIStatusError as error:
            check(f"{what}: {type(error).__name__} {error.code}", type(error) is kind and error.code == code)

    def make(client: openai.OpenAI, **options):
        return client.images.generate(**{"model": "fast", "prompt": "a fox", **options})

    scoped, poor = os.environ["TINTYPE_KEY_FAST"], os.environ["TINTYPE_KEY_POOR"]
    refused("a bad key", openai.AuthenticationError, "invalid_api_key", lambda: make(client("bad")))
    refused("a bad key of a list", openai.AuthenticationError, "invalid_api_key", lambda: client("bad").models.list())
    refused("a size", openai.BadRequestError, "invalid_value", lambda: make(client(), size="large"))
    refused("a scope", openai.PermissionDeniedError, "model_not_allowed", lambda: make(client(scoped), model="pro"))
    refused("a model", openai.NotFoundError, "model_not_found", lambda: make(client(), model="dall-e-3"))
    refused("no money", openai.RateLimitError, "insufficient_quota", lambda: make(client(poor)))
    pause(True)
    refused("paused", openai.InternalServerError, "unavailable", lambda: make(client()))
    pause(False)
    for path in ("", "/api/v1", "/v1beta/openai"):
        stray = openai.OpenAI(base_url=URL + path, api_key=KEY, max_retries=0)
        try:
            make(stray)
            check("a wrong base URL is refused", False)
        except openai.NotFoundError as error:
            check(f"a base URL that ends with {path!r}: {error}", "with /v1 at its end" in str(error))


def batches() -> None:
    client = openai.OpenAI(base_url=f"{URL}/v1", api_key=KEY)

    def line(name: str, **options) -> dict:
        body = {"model": "fast", "prompt": f"a {name}", "size": "1024x1024", **options}
        return {"custom_id": name, "method": "POST", "url": "/v1/images/generations", "body": body}

    def uploaded(lines: list[dict]):
        content = "\n".join(json.dumps(it) for it in lines).encode()
        return client.files.create(file=("batch.jsonl", BytesIO(content)), purpose="batch")

    def submitted(file, **options):
        return client.batches.create(
            input_file_id=file.id, endpoint="/v1/images/generations", completion_window="24h", **options
        )

    def ended(batch):
        while batch.status not in ("completed", "failed", "cancelled"):
            time.sleep(0.2)
            batch = client.batches.retrieve(batch.id)
        return batch

    names = [f"fox {number}" for number in range(5)]
    file = uploaded([line(name) for name in names])
    check("an uploaded file", (file.purpose, file.filename, file.status) == ("batch", "batch.jsonl", "processed"))
    check("its content", len(client.files.content(file.id).text.splitlines()) == 5)
    batch = ended(submitted(file, metadata={"kind": "foxes"}))
    counts = batch.request_counts
    check("a batch", (batch.status, counts.completed, counts.total) == ("completed", 5, 5))
    check("its metadata", batch.metadata == {"kind": "foxes"} and batch.input_file_id == file.id)
    results = [json.loads(it) for it in client.files.content(batch.output_file_id).text.splitlines()]
    check("its results", [it["custom_id"] for it in results] == names)
    bodies = [it["response"]["body"] for it in results]
    images = [openai.types.ImagesResponse.model_validate(it).data[0].b64_json for it in bodies]
    opened = [Image.open(BytesIO(base64.b64decode(it))).size for it in images]
    check("their images", opened == [(1024, 1024)] * 5)
    with client.files.with_streaming_response.content(batch.output_file_id) as streamed:
        check("a stream of them", sum(1 for _ in streamed.iter_lines()) == 5)
    check("files are found", file.id in [it.id for it in client.files.list(limit=1)])
    check("results are found", batch.output_file_id in [it.id for it in client.files.list(purpose="batch_output")])
    others = [submitted(file, metadata={"number": str(number)}).id for number in range(3)]
    check("batches are listed", [it.id for it in client.batches.list(limit=2)][:3] == others[::-1])
    check("all are there", len([*client.batches.list(limit=1)]) == 4)
    jpegs = ended(submitted(uploaded([line(it, output_format="jpeg", output_compression=70) for it in names])))
    bodies = [json.loads(it)["response"]["body"] for it in client.files.content(jpegs.output_file_id).text.splitlines()]
    check("a batch in JPEG", [it["output_format"] for it in bodies] == ["jpeg"] * 5)
    opened = [Image.open(BytesIO(base64.b64decode(it["data"][0]["b64_json"]))).format for it in bodies]
    check("their files", opened == ["JPEG"] * 5)
    client.files.delete(jpegs.input_file_id)
    faulty = ended(submitted(uploaded([line("good"), line("bad", n=2), line("good")])))
    faults = [(it.line, it.code, it.param) for it in faulty.errors.data]
    expected = [(2, "invalid_value", "body.n"), (3, "duplicate_custom_id", "custom_id")]
    check(f"faults are named: {faults}", faulty.status == "failed" and faults == expected)
    many = submitted(uploaded([line(f"many {number}") for number in range(50)]))
    canceled = ended(client.batches.cancel(many.id))
    counts = canceled.request_counts
    check("a canceled batch", canceled.status == "cancelled" and counts.failed + counts.completed == 50)
    lines = client.files.content(canceled.error_file_id).text.splitlines()
    codes = {json.loads(it)["error"]["code"] for it in lines}
    check("what was canceled", len(lines) == counts.failed and codes == {"batch_cancelled"})
    for found in (file.id, batch.output_file_id):
        check("a file is deleted", client.files.delete(found).deleted)
        try:
            client.files.retrieve(found)
            check("it is gone", False)
        except openai.NotFoundError as error:
            check("it is gone", found in str(error))
    try:
        client.batches.cancel(batch.id)
        check("an ended batch stays as it is", False)
    except openai.ConflictError:
        check("an ended batch stays as it is", True)


for part in (gemini_images, streams, models, refusals, images, formats, masks, openai_streams, responses, image_at_a_url, refusals_of_openai, batches, frail):
    part()
interactions(gemini(), check, png)
print(f"{passed} passed, {len(failed)} failed (google-genai {genai.__version__}, openai {openai.__version__})")
sys.exit(1 if failed else 0)
