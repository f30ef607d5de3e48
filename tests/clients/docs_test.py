"""Every curl command and every Python example of the documentation does what the text beside it says."""

import json
import re
import subprocess

import pytest

from server import ROOT

ADDRESS = "http://127.0.0.1:8000"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def examples(language, word):
    """Fenced blocks of a language that have a word, each with the JSON that follows it directly, if any."""
    for page in PAGES:
        text = page.read_text()
        blocks = list(BLOCK.finditer(text))
        for block, following in zip(blocks, [*blocks[1:], None]):
            if block[1] != language or word not in block[2]:
                continue
            shown = None
            if following is not None and following[1] == "json" and not text[block.end():following.start()].strip():
                shown = following[2]
            line = text.count("\n", 0, block.start()) + 1
            yield pytest.param(block[2], shown, id=f"{page.name}:{line}")


def keys(text):
    """The members of a JSON object, and of its `error` if it has one."""
    value = json.loads(text)
    return set(value) | {f"error.{key}" for key in value.get("error", {})}


@pytest.mark.parametrize("command, shown", list(examples("sh", "curl")))
def test_curl(server, takes_images, tmp_path, command, shown):
    assert ADDRESS in command
    result = subprocess.run(["sh", "-eu", "-c", command.replace(ADDRESS, server.url)], cwd=tmp_path,
                            capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    # One command may print several answers.
    answers, decoder, rest = [], json.JSONDecoder(), result.stdout.lstrip()
    while rest.startswith("{"):
        value, end = decoder.raw_decode(rest)
        answers.append(value)
        rest = rest[end:].lstrip()
    assert answers or rest
    if "asset-0" in command and not takes_images:
        assert answers[0]["error"]["param"] == "images"
    elif shown is not None:
        assert keys(json.dumps(answers[0])) == keys(shown)
    else:
        assert all("error" not in answer for answer in answers), answers


@pytest.mark.parametrize("program, shown", list(examples("python", "127.0.0.1")))
def test_python(server, tmp_path, program, shown):
    exec(compile(program.replace(ADDRESS, server.url), "example", "exec"), {})


def test_there_are_examples():
    assert len(list(examples("sh", "curl"))) >= 5
