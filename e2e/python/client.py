"""Runs every scenario with the OpenAI Python SDK and prints what a user sees.

The base URL and key are taken from OPENAI_BASE_URL and OPENAI_API_KEY, as any
app does; one JSON object with an entry per scenario goes to standard output.
"""

import hashlib
import json
import os

import openai
from pydantic import BaseModel

CLIENT = openai.OpenAI(max_retries=0, timeout=20)
MODEL = "gpt-4o-mini"
ASK = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "What is 2^53 + 1? 请用中文回答 🙂 <&>"},
]
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
                "required": ["city", "days"],
            },
        },
    }
]


class Invoice(BaseModel):
    customer: str
    items: list[str]
    paid: bool


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def chat():
    return CLIENT.chat.completions.create(model=MODEL, messages=ASK).model_dump()


def stream():
    chunks = CLIENT.chat.completions.create(model=MODEL, messages=ASK, stream=True)
    return [chunk.model_dump() for chunk in chunks]


def stream_usage():
    chunks = CLIENT.chat.completions.create(
        model=MODEL, messages=ASK, stream=True, stream_options={"include_usage": True}
    )
    return [chunk.model_dump() for chunk in chunks]


def tools():
    first = CLIENT.chat.completions.create(model=MODEL, messages=ASK, tools=TOOLS)
    message = first.choices[0].message
    call = message.tool_calls[0]
    streamed = CLIENT.chat.completions.create(model=MODEL, messages=ASK, tools=TOOLS, stream=True)
    second = CLIENT.chat.completions.create(
        model=MODEL,
        tools=TOOLS,
        messages=ASK
        + [
            message.model_dump(exclude_none=True),
            {"role": "tool", "tool_call_id": call.id, "content": "21 °C, sunny"},
        ],
    )
    return {
        "arguments": json.loads(call.function.arguments),
        "first": first.model_dump(),
        "streamed": [chunk.model_dump() for chunk in streamed],
        "second": second.model_dump(),
    }


def structured():
    answer = CLIENT.chat.completions.parse(model=MODEL, messages=ASK, response_format=Invoice)
    return answer.choices[0].message.parsed.model_dump()


def embeddings():
    answer = CLIENT.embeddings.create(
        model="text-embedding-3-small", input=["first text", "第二段"], dimensions=64
    )
    return answer.model_dump()


def models():
    return [model.model_dump() for model in CLIENT.models.list()]


def upload():
    with open(os.environ["E2E_UPLOAD"], "rb") as file:
        return CLIENT.files.create(file=file, purpose="user_data").model_dump()


def image():
    with open(os.environ["E2E_IMAGE"], encoding="ascii") as file:
        url = file.read()
    parts = [
        {"type": "text", "text": "What is in this picture?"},
        {"type": "image_url", "image_url": {"url": url}},
    ]
    answer = CLIENT.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": parts}])
    return answer.model_dump()


def transcription():
    with open(os.environ["E2E_AUDIO"], "rb") as file:
        return CLIENT.audio.transcriptions.create(file=file, model="whisper-1").model_dump()


def speech():
    with CLIENT.audio.speech.with_streaming_response.create(
        model="tts-1", voice="alloy", input="Say this aloud."
    ) as answer:
        return {"type": answer.headers["content-type"], "sha256": sha256(answer.read())}


def failure(model):
    try:
        CLIENT.chat.completions.create(model=model, messages=ASK)
    except openai.APIStatusError as error:
        return {
            "class": type(error).__name__,
            "status": error.status_code,
            "message": error.message,
            "type": error.type,
            "code": error.code,
            "body": error.body,
            "request_id": error.request_id,
            "retry_after": error.response.headers.get("retry-after"),
        }
    return "no error"


def abort():
    answer = CLIENT.chat.completions.create(
        model=os.environ["E2E_ABORTED_MODEL"], messages=ASK, stream=True
    )
    read = []
    for chunk in answer:
        read.append(chunk.model_dump())
        if len(read) == 3:
            break
    answer.close()
    return read


SCENARIOS = {
    "chat": chat,
    "stream": stream,
    "stream_usage": stream_usage,
    "tools": tools,
    "structured": structured,
    "embeddings": embeddings,
    "models": models,
    "upload": upload,
    "image": image,
    "transcription": transcription,
    "speech": speech,
    "error_401": lambda: failure("error-401"),
    "error_429": lambda: failure("error-429"),
    "error_500": lambda: failure("error-500"),
    "abort": abort,
}

print(json.dumps({name: run() for name, run in SCENARIOS.items()}))
