"""Makes the same calls with real Python clients against several servers, and prints what each call gave.

    clients.py CLIENT... < scene.json

The scene on stdin is {"servers": [{"url", "key"}, ...], "errors": {"401": [{"key", "model"}, ...], ...}}: for every
status one key and one model for each server, in the order of the servers. A key of null is the key of the server.

Each case makes one request to every server in turn. One line of JSON for each case goes to stdout:

    {"client": "openai", "case": "chat", "given": [{"value": ...} or {"error": {...}}, one for each server]}
"""

import asyncio
import json
import os
import sys
import warnings

warnings.filterwarnings("ignore")
# Without it LiteLLM fetches its price list from the network when it is imported.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

CHAT = "gpt-4o"
MESSAGES = "claude-sonnet-4-5"
EMBEDDING = "text-embedding-3-small"
SPEAKER = "tts-1"

SYSTEM = "Be brief."
# Text that looks like what a gateway edits.
HELLO = 'Say "hi" to {"model":"x","stream_options":{}} – naïve 🌍'
QUESTION = "What is in this picture?"
PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
IMAGE_URL = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOL = {
    "type": "function",
    "function": {"name": "get_weather", "description": "The weather of a city", "parameters": SCHEMA},
}
CALL_ID = "call_1"
ARGUMENTS = '{"city": "Reykjavík"}'

CHAT_MESSAGES = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": HELLO}]
CHAT_IMAGE = [{"role": "user", "content": [{"type": "text", "text": QUESTION}, IMAGE_URL]}]
CHAT_TOOL_RESULT = [
    {"role": "user", "content": HELLO},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": CALL_ID, "type": "function", "function": {"name": "get_weather", "arguments": ARGUMENTS}}
        ],
    },
    {"role": "tool", "tool_call_id": CALL_ID, "content": "{rain}"},
]

# What a library makes up itself, anew in each run.
VOLATILE = {"id", "created", "response_ms", "run_id"}


def plain(value):
    """A value of a client's as JSON."""
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def without(value, names):
    if isinstance(value, dict):
        return {name: without(inner, names) for name, inner in value.items() if name not in names}
    if isinstance(value, list):
        return [without(item, names) for item in value]
    return value


def openai(server):
    from openai import AsyncOpenAI, OpenAI

    settings = {"base_url": server["url"] + "/v1", "api_key": server["key"], "max_retries": 0, "timeout": 60}
    client = OpenAI(**settings)
    create = client.chat.completions.create

    def helper():
        with client.chat.completions.stream(model=CHAT, messages=CHAT_MESSAGES) as stream:
            for _ in stream:
                pass
            return stream.get_final_completion()

    async def streamed():
        async with AsyncOpenAI(**settings) as concurrent:
            stream = await concurrent.chat.completions.create(model=CHAT, messages=CHAT_MESSAGES, stream=True)
            return [chunk async for chunk in stream]

    yield "chat", lambda: create(model=CHAT, messages=CHAT_MESSAGES)
    yield "chat, streamed", lambda: list(create(model=CHAT, messages=CHAT_MESSAGES, stream=True))
    yield "chat, streamed, asyncio", lambda: asyncio.run(streamed())
    yield "chat, stream helper", helper
    yield "tools, streamed, usage asked", lambda: list(
        create(
            model=CHAT,
            messages=CHAT_MESSAGES,
            tools=[TOOL],
            tool_choice="auto",
            temperature=0.2,
            max_tokens=64,
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    yield "tool result, streamed", lambda: list(create(model=CHAT, messages=CHAT_TOOL_RESULT, tools=[TOOL], stream=True))
    yield "image", lambda: create(model=CHAT, messages=CHAT_IMAGE, max_tokens=64)
    yield "embeddings", lambda: client.embeddings.create(model=EMBEDDING, input=["a", "b"])

    respond = client.responses.create
    tools = [{"type": "function", "name": "get_weather", "parameters": SCHEMA, "strict": False}]
    result = [{"type": "function_call_output", "call_id": CALL_ID, "output": "{rain}"}]
    image = ("cat.png", b"png \x00\r\n--", "image/png")
    recording = ("hello.mp3", b"mp3 \x00\r\n--", "audio/mpeg")
    transcribe = client.audio.transcriptions.create

    def response_helper():
        with client.responses.stream(model=CHAT, input=HELLO, instructions=SYSTEM) as stream:
            for _ in stream:
                pass
            return stream.get_final_response()

    yield "response", lambda: respond(model=CHAT, input=HELLO, instructions=SYSTEM)
    yield "response, streamed", lambda: list(respond(model=CHAT, input=HELLO, stream=True))
    yield "response, stream helper", response_helper
    yield "response, tools, streamed", lambda: list(respond(model=CHAT, input=HELLO, tools=tools, stream=True))
    yield "response, tool result", lambda: respond(
        model=CHAT, input=result, tools=tools, previous_response_id="resp_1"
    )
    yield "response, tool result, streamed", lambda: list(
        respond(model=CHAT, input=result, tools=tools, previous_response_id="resp_1", stream=True)
    )
    yield "completion", lambda: client.completions.create(model=CHAT, prompt=HELLO, max_tokens=64)
    yield "completion, streamed", lambda: list(client.completions.create(model=CHAT, prompt=HELLO, stream=True))
    yield "images", lambda: client.images.generate(model=CHAT, prompt=HELLO, n=2)
    yield "images, streamed", lambda: list(
        client.images.generate(model=CHAT, prompt=HELLO, stream=True, partial_images=1)
    )
    yield "image edit", lambda: client.images.edit(model=CHAT, image=image, prompt=HELLO)
    yield "speech", lambda: client.audio.speech.create(model=SPEAKER, input=HELLO, voice="alloy").content
    yield "transcription", lambda: transcribe(model=CHAT, file=recording)
    yield "transcription, streamed", lambda: list(transcribe(model=CHAT, file=recording, stream=True))
    yield "translation", lambda: client.audio.translations.create(model=CHAT, file=recording)
    yield "moderation", lambda: client.moderations.create(model=CHAT, input=[HELLO, SYSTEM])


def openai_response_error(server, model):
    openai_client(server).responses.create(model=model, input=HELLO)


def openai_form_error(server, model):
    recording = ("hello.mp3", b"mp3", "audio/mpeg")
    openai_client(server).audio.transcriptions.create(model=model, file=recording)


def openai_client(server):
    from openai import OpenAI

    return OpenAI(base_url=server["url"] + "/v1", api_key=server["key"], max_retries=0, timeout=60)


def openai_error(server, model):
    openai_client(server).chat.completions.create(model=model, messages=CHAT_MESSAGES)


def anthropic(server):
    from anthropic import Anthropic, AsyncAnthropic

    settings = {"base_url": server["url"], "api_key": server["key"], "max_retries": 0, "timeout": 60}
    client = Anthropic(**settings)
    user = [{"role": "user", "content": HELLO}]
    tool = {"name": "get_weather", "description": "The weather of a city", "input_schema": SCHEMA}
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
    result = [
        {"role": "user", "content": HELLO},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": CALL_ID, "name": "get_weather", "input": json.loads(ARGUMENTS)}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": CALL_ID, "content": "{rain}"}]},
    ]
    ask = {"model": MESSAGES, "max_tokens": 64}

    def helper():
        tools = {"tools": [tool], "tool_choice": {"type": "auto"}}
        with client.messages.stream(messages=user, **ask, **tools) as stream:
            return stream.get_final_message()

    async def streamed():
        async with AsyncAnthropic(**settings) as concurrent:
            stream = await concurrent.messages.create(messages=user, stream=True, **ask)
            return [event async for event in stream]

    yield "message", lambda: client.messages.create(messages=user, system=SYSTEM, **ask)
    yield "message, streamed", lambda: list(client.messages.create(messages=user, stream=True, **ask))
    yield "message, streamed, asyncio", lambda: asyncio.run(streamed())
    yield "tools, stream helper", helper
    yield "tool result, streamed", lambda: list(
        client.messages.create(messages=result, tools=[tool], stream=True, **ask)
    )
    yield "image", lambda: client.messages.create(
        messages=[{"role": "user", "content": [picture, {"type": "text", "text": QUESTION}]}], **ask
    )
    yield "count_tokens", lambda: client.messages.count_tokens(messages=user, model=MESSAGES)
    yield "message, beta", lambda: client.beta.messages.create(
        messages=user, betas=["context-1m-2025-08-07", "interleaved-thinking-2025-05-14"], **ask
    )


def anthropic_error(server, model):
    from anthropic import Anthropic

    client = Anthropic(base_url=server["url"], api_key=server["key"], max_retries=0, timeout=60)
    client.messages.create(model=model, max_tokens=64, messages=[{"role": "user", "content": HELLO}])


def langchain_openai(server):
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
    from langchain_openai import ChatOpenAI, OpenAIEmbeddings

    settings = {"base_url": server["url"] + "/v1", "api_key": server["key"], "max_retries": 0, "timeout": 60}
    chat = ChatOpenAI(model=CHAT, **settings)
    words = [SystemMessage(SYSTEM), HumanMessage(HELLO)]
    call = {"id": CALL_ID, "name": "get_weather", "args": json.loads(ARGUMENTS)}
    result = [HumanMessage(HELLO), AIMessage("", tool_calls=[call]), ToolMessage("{rain}", tool_call_id=CALL_ID)]
    embedder = OpenAIEmbeddings(model=EMBEDDING, check_embedding_ctx_length=False, **settings)

    yield "chat", lambda: chat.invoke(words)
    yield "chat, streamed", lambda: list(chat.stream(words))
    yield "chat, streamed, usage asked", lambda: list(chat.stream(words, stream_usage=True))
    yield "tools, streamed", lambda: list(chat.bind_tools([TOOL]).stream(words))
    yield "tool result, streamed", lambda: list(chat.bind_tools([TOOL]).stream(result))
    yield "image", lambda: chat.invoke([HumanMessage(CHAT_IMAGE[0]["content"])])
    yield "embeddings", lambda: embedder.embed_documents(["a", "b"])


def langchain_openai_error(server, model):
    from langchain_openai import ChatOpenAI

    settings = {"base_url": server["url"] + "/v1", "api_key": server["key"], "max_retries": 0, "timeout": 60}
    ChatOpenAI(model=model, **settings).invoke(HELLO)


def litellm(server):
    import litellm as library

    library.suppress_debug_info = True
    vendor = {"api_base": server["url"] + "/v1", "api_key": server["key"], "num_retries": 0, "timeout": 60}
    other = {**vendor, "api_base": server["url"]}
    chat = "openai/" + CHAT
    message = "anthropic/" + MESSAGES

    yield "chat", lambda: library.completion(chat, CHAT_MESSAGES, **vendor)
    yield "chat, streamed", lambda: list(library.completion(chat, CHAT_MESSAGES, stream=True, **vendor))
    yield "tools, streamed, usage asked", lambda: list(
        library.completion(
            chat,
            CHAT_MESSAGES,
            tools=[TOOL],
            tool_choice="auto",
            max_tokens=64,
            stream=True,
            stream_options={"include_usage": True},
            **vendor,
        )
    )
    yield "tool result, streamed", lambda: list(
        library.completion(chat, CHAT_TOOL_RESULT, tools=[TOOL], stream=True, **vendor)
    )
    yield "image", lambda: library.completion(chat, CHAT_IMAGE, **vendor)
    yield "embeddings", lambda: library.embedding("openai/" + EMBEDDING, input=["a", "b"], **vendor)
    yield "message", lambda: library.completion(message, CHAT_MESSAGES, **other)
    yield "message, tools, streamed", lambda: list(
        library.completion(message, CHAT_MESSAGES, tools=[TOOL], stream=True, **other)
    )


def litellm_error(server, model):
    import litellm as library

    library.suppress_debug_info = True
    vendor = {"api_base": server["url"] + "/v1", "api_key": server["key"], "num_retries": 0, "timeout": 60}
    library.completion("openai/" + model, CHAT_MESSAGES, **vendor)


CLIENTS = {
    "openai": (
        openai,
        {"": openai_error, ", response": openai_response_error, ", form": openai_form_error},
        set(),
    ),
    "anthropic": (anthropic, {"": anthropic_error}, set()),
    "langchain-openai": (langchain_openai, {"": langchain_openai_error}, VOLATILE),
    "litellm": (litellm, {"": litellm_error}, VOLATILE),
}


def outcome(call, volatile):
    """What a call gave: its value, or the class and the status of what it raised."""
    try:
        return {"value": without(plain(call()), volatile)}
    except Exception as error:  # whatever a client raises is what its user would see
        status = getattr(error, "status_code", None)
        return {"error": {"class": type(error).__name__, "status": status, "message": str(error)[:300]}}


def show(client, case, given):
    print(json.dumps({"client": client, "case": case, "given": given}), flush=True)


def main():
    scene = json.load(sys.stdin)
    servers = scene["servers"]
    for name in sys.argv[1:]:
        cases, fails, volatile = CLIENTS[name]
        for row in zip(*(cases(server) for server in servers)):
            show(name, row[0][0], [outcome(call, volatile) for _, call in row])
        for status, asked in scene["errors"].items():
            for suffix, fail in fails.items():
                given = []
                for server, wrong in zip(servers, asked):
                    wronged = {**server, "key": wrong["key"] or server["key"]}
                    given.append(outcome(lambda: fail(wronged, wrong["model"]), volatile))
                show(name, f"error {status}{suffix}", given)


main()
