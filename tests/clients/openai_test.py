"""The openai package's client.decisions, unchanged."""

import asyncio
import base64

import openai
import pytest

QUESTIONS = [
    {"type": "predicate", "name": "angry", "instructions": "The writer is angry."},
    {"type": "choice", "name": "team", "instructions": [{"type": "input_text", "text": "Who should handle this?"}],
     "choices": [{"value": "billing", "description": "Payments"}, {"value": "true"}, {"value": True}]},
    {"type": "score", "instructions": "How urgent is it?",
     "levels": [{"label": "can wait"}, {"label": "today"}, {"label": "now", "description": "Losing money"}]},
]


@pytest.fixture
def client(server):
    with openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0) as client:
        yield client


def check(decision):
    assert decision.model == "d3-nano"
    predicate, choice, score = decision.answers
    assert (predicate.type, predicate.name) == ("predicate", "angry")
    assert 0 <= predicate.probability <= 1
    assert (choice.type, choice.name) == ("choice", "team")
    assert [entry.value for entry in choice.probabilities] == ["billing", "true", True]
    assert choice.confidence == max(entry.probability for entry in choice.probabilities)
    assert (score.type, score.name) == ("score", None)
    assert [(entry.value, entry.label) for entry in score.probabilities] == [(0, "can wait"), (1, "today"), (2, "now")]
    assert score.score == pytest.approx(sum(entry.value * entry.probability for entry in score.probabilities))
    usage = decision.usage
    assert usage.total_tokens == usage.input_tokens > 0
    assert usage.output_tokens == usage.output_tokens_details.reasoning_tokens == 0


def test_create(client):
    check(client.decisions.create(model="d3-nano", input="Charged twice.", questions=QUESTIONS))
    check(client.decisions.create(
        model="d3-nano", questions=QUESTIONS, safety_identifier="u", prompt_cache_key="k",
        input=[{"role": "user", "content": "Charged twice."},
               {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Twice!"}]}]))


def test_async(server):
    async def ask():
        async with openai.AsyncOpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0) as client:
            create = client.decisions.create
            return await asyncio.gather(*(create(model="d3-nano", input="x", questions=QUESTIONS) for _ in range(8)))

    for decision in asyncio.run(ask()):
        check(decision)


def test_raw_and_streaming_responses(client):
    raw = client.decisions.with_raw_response.create(
        model="d3-nano", input="x", questions=QUESTIONS, extra_headers={"x-request-id": "mine"})
    assert raw.status_code == 200
    assert raw.headers["x-request-id"] == "mine"
    assert raw.headers["content-type"] == "application/json"
    check(raw.parse())
    with client.decisions.with_streaming_response.create(model="d3-nano", input="x", questions=QUESTIONS) as stream:
        check(stream.parse())


def test_models(client):
    (model,) = client.models.list().data
    assert (model.id, model.object) == ("d3-nano", "model")


def test_images(client, png, takes_images):
    url = "data:image/png;base64," + base64.b64encode(png).decode()
    parts = [{"type": "input_text", "text": "A photo:"}, {"type": "input_image", "image_url": url, "detail": "auto"}]

    def ask():
        return client.decisions.create(
            model="d3-nano", input=[{"role": "user", "content": parts}], questions=QUESTIONS)

    if takes_images:
        check(ask())
    else:
        with pytest.raises(openai.BadRequestError, match="takes no images"):
            ask()


def test_errors(client):
    with pytest.raises(openai.NotFoundError) as caught:
        client.decisions.create(model="nope", input="x", questions=QUESTIONS)
    assert caught.value.param == "model"
    assert caught.value.type == "NotFoundError"
    assert caught.value.request_id
    with pytest.raises(openai.BadRequestError) as caught:
        client.decisions.create(model="d3-nano", input="x", questions=[{"type": "choice", "instructions": "?", "choices": []}])
    assert caught.value.param == "questions.0.choices"
    with pytest.raises(openai.BadRequestError):
        client.decisions.create(model="d3-nano", input=[{"role": "assistant", "content": "x"}], questions=QUESTIONS)


def test_keys(narrow_server):
    with openai.OpenAI(base_url=narrow_server.url + "/v1", api_key="wrong", max_retries=0) as client:
        with pytest.raises(openai.AuthenticationError):
            client.models.list()
