"""vLLM 0.33's recorded answers: ours have equal status and shape, or a line of docs/compatibility.md says why not."""

import json
import re

import pytest

from server import ROOT

RECORDED = [json.loads(line) for line in (ROOT / "tests/data/wire-vllm.jsonl").read_text().splitlines()]
TABLE = (ROOT / "docs/compatibility.md").read_text()
# The last column of the page's table names the recorded requests that a line is about.
DIFFERENT = {name for cell in re.findall(r"\|([^|\n]*)\|$", TABLE, re.MULTILINE) for name in re.findall(r"`(\w+)`", cell)}


def shape(value):
    if isinstance(value, dict):
        return [(key, shape(entry)) for key, entry in value.items()]
    if isinstance(value, list):
        return [shape(entry) for entry in value]
    return type(value).__name__


def answer(server, recorded):
    request = recorded["request"]
    body = request["body"]
    if body is not None:
        body = body.replace("vllm-sr/d3-tiny", "d3-nano")
    return server.request(request["method"], request["path"], body, request["content_type"])


def is_equal(ours, theirs):
    """Equal status and, key by key and in order, equal kinds; an error's message, type and param may differ."""
    if ours.status != theirs["status"]:
        return False
    if not isinstance(theirs["body"], dict):
        return ours.body.decode() == theirs["body"]
    if "error" in theirs["body"]:
        return list(ours.json) == ["error"] and list(ours.json["error"]) == ["message", "type", "param", "code"]
    return shape(ours.json) == shape(theirs["body"])


def test_there_are_all_of_them():
    assert len(RECORDED) == 89
    assert len({recorded["name"] for recorded in RECORDED}) == 89
    assert DIFFERENT <= {recorded["name"] for recorded in RECORDED}, "a name that no request has"


@pytest.mark.parametrize("recorded", RECORDED, ids=[recorded["name"] for recorded in RECORDED])
def test_wire(server, recorded):
    ours = answer(server, recorded)
    assert ours.status < 500
    assert is_equal(ours, recorded["response"]) == (recorded["name"] not in DIFFERENT), (ours, recorded["response"])
