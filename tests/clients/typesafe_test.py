"""typesafe-sdk as its users call it: only `base_url` is another."""

import asyncio
import threading

import httpx2
import pytest
import typesafe_sdk
from typesafe_sdk import AsyncTypeSafeClient, Choice, Image, Noul, RetryPolicy, Score, TypeSafeClient

NO_RETRY = RetryPolicy(max_retries=0)
QUESTIONS = {
    "billing": Noul(instructions="Is this about billing?"),
    "refund": Noul(instructions={"ask": "Is a refund due?"}, criteria={"true": "Charged twice", "false": None}),
    "tone": Choice(instructions="What is the tone?", criteria={"calm": None, "angry": "Upset", "both": ["a", 1]}),
    "urgency": Score(instructions="How urgent is it?", criteria=["low", {"b": 1, "a": [True]}, "high"]),
}


@pytest.fixture
def client(server):
    with TypeSafeClient(base_url=server.url, api_key="none", retry=NO_RETRY) as client:
        yield client


def check(response):
    assert response.model == "d3-nano"
    assert response.usage.input_tokens > 0
    assert response.usage.output_tokens == 0
    assert list(response.answers) == list(QUESTIONS)
    assert 0 <= response.nouls["billing"].noul <= 1
    tone = response.choices["tone"]
    assert list(tone.probabilities) == ["calm", "angry", "both"]
    assert tone.probabilities[tone.choice] == tone.confidence == max(tone.probabilities.values())
    urgency = response.scores["urgency"]
    assert urgency.legend == {0: "low", 1: '{"a":[true],"b":1}', 2: "high"}
    assert sum(urgency.probabilities.values()) == pytest.approx(1, abs=1e-6)
    assert urgency.score == pytest.approx(sum(i * p for i, p in urgency.probabilities.items()))
    assert response.request_id == response.raw_http_response.headers["x-request-id"]


def test_every_question_type(client):
    check(client.system_one({"text": "I was charged twice.", "n": [1, 2.5, None]}, QUESTIONS))


def test_async(server):
    async def ask():
        async with AsyncTypeSafeClient(base_url=server.url, api_key="none", retry=NO_RETRY) as client:
            for response in await asyncio.gather(*(client.system_one("Charged twice.", QUESTIONS) for _ in range(8))):
                check(response)
            return await client.models.list()

    assert [model.name for model in asyncio.run(ask()).models] == ["d3-nano"]


def test_models(client):
    (model,) = client.models.list().models
    assert model.name == "d3-nano"
    assert len(model.release_date) == len("2026-12-02")
    named = client.system_one("x", {"q": Noul(instructions="Yes?")}, model=model.name)
    assert named.model == model.name


def test_images(client, png, takes_images):
    photo, other = Image(png), Image(png + b"")
    def ask():
        return client.system_one(
            {"first": photo, "text": "and <named>"},
            {"q": Noul(instructions=f"Is {other} the same?"), "c": Choice(instructions="?", criteria={"a": photo, "b": None})},
            assets={"<named>": Image(bytearray(png))})

    with client.attach_assets(other):
        if takes_images:
            response = ask()
            assert list(response.answers) == ["q", "c"]
            alone = client.system_one("x", {"q": Noul(instructions="?")})
            assert response.usage.input_tokens > alone.usage.input_tokens + 2 * 3 * 64
        else:
            with pytest.raises(typesafe_sdk.TypeSafeBadRequestError, match="images: this server takes no images"):
                ask()


def test_async_images(server, png, takes_images):
    async def ask():
        async with AsyncTypeSafeClient(base_url=server.url, api_key="none", retry=NO_RETRY) as client:
            return await client.system_one(Image(png), {"q": Noul(instructions="Is it gray?")})

    if takes_images:
        assert 0 <= asyncio.run(ask()).nouls["q"].noul <= 1
    else:
        with pytest.raises(typesafe_sdk.TypeSafeBadRequestError, match="takes no images"):
            asyncio.run(ask())


def test_what_is_no_image(client):
    with pytest.raises(typesafe_sdk.TypeSafeBadRequestError) as caught:
        client.system_one("<a>", {"q": Noul(instructions="?")}, assets={"<a>": Image(b"GIF89a")})
    assert caught.value.body["error"]["param"] == "assets.<a>"


def test_errors(client, server):
    with pytest.raises(typesafe_sdk.TypeSafeNotFoundError, match="model: `nope` is not served here"):
        client.system_one("x", QUESTIONS, model="nope")
    with pytest.raises(typesafe_sdk.TypeSafeBadRequestError) as caught:
        client.system_one("x", {"q": {"type": "box", "instructions": "Where?"}})
    assert caught.value.status == 400
    assert caught.value.body["error"]["param"] == "questions.q.type"
    assert caught.value.request_id
    with pytest.raises(typesafe_sdk.TypeSafeAPIConnectionError):
        with TypeSafeClient(base_url="http://127.0.0.1:1", api_key="none", retry=NO_RETRY) as nobody:
            nobody.models.list()


def test_keys_and_sizes(narrow_server):
    with TypeSafeClient(base_url=narrow_server.url, api_key="wrong", retry=NO_RETRY) as client:
        with pytest.raises(typesafe_sdk.TypeSafeAuthenticationError):
            client.models.list()
    with TypeSafeClient(base_url=narrow_server.url, api_key="secret", retry=NO_RETRY) as client:
        assert client.models.list().models
        with pytest.raises(typesafe_sdk.TypeSafeAPIError) as caught:
            client.system_one("x" * 2_000_000, {"q": Noul(instructions="?")})
        assert caught.value.status == 413


def test_retries_on_429(narrow_server):
    """While long requests fill the server, another is told to come back, and comes back until it is answered."""
    long_state, long_questions = "item " * 1000, {f"q{i}": Noul(instructions=f"Is it {i}?") for i in range(16)}
    short = ("x", {"q": Noul(instructions="?")})
    insistent = RetryPolicy(max_retries=1000, timeout=None, respect_retry_after=False, backoff_initial=0.01, backoff_max=0.01)
    statuses, refusals = [], []
    hooks = {"response": [lambda response: statuses.append(response.status_code)]}

    def is_refused(client):
        try:
            client.system_one(*short)
        except typesafe_sdk.TypeSafeRateLimitError as error:
            refusals.append(error)
            return True
        return False

    with (TypeSafeClient(base_url=narrow_server.url, api_key="secret", retry=NO_RETRY, timeout=60) as plain,
          TypeSafeClient(base_url=narrow_server.url, api_key="secret", retry=RetryPolicy(max_retries=1000, timeout=None),
                         timeout=60, http_client=httpx2.Client(event_hooks=hooks)) as patient):
        while 429 not in statuses:  # else the long request ended before this client's first try
            filler = threading.Thread(target=plain.system_one, args=(long_state, long_questions),
                                      kwargs={"retry": insistent})
            filler.start()
            while filler.is_alive() and not is_refused(plain):
                pass
            assert patient.system_one(*short).answers
            filler.join()
    assert statuses[-1] == 200
    assert all(error.status == 429 and error.retry_after_ms >= 1000 for error in refusals)
