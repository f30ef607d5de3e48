"""Every command and every Python example of the documentation does what the text beside it says."""

import csv
import json
import os
import re
import shutil
import subprocess

import pytest

import server as servers
from server import BIN, ROOT, environment

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


@pytest.fixture(scope="session")
def server():
    """The demonstration model, called as the documentation's examples call it and the models it stands for."""
    running = servers.Server("demo", "--served-model-name", "d3-nano", "--served-model-name", "demo")
    yield running
    assert running.stop() == 0


# Commands of the documentation that no test runs, by how they begin, and why.
NOT_RUN = {
    "./run serve": "fetches a model or serves until it is stopped; the curl commands ask such a server",
    "./test": "this is it",
    "tools/build": "builds, as the tests' own build has",
    "tools/package": "the test `package` does",
    "tools/install_packages": "installs what building this has needed",
    "cmake --": "the test `install` does",
    "d3 doctor --network": "asks a hub; `cli_hub_test` has one",
    "sudo": "wants root and changes the machine",
    "podman": "wants a network and a container runtime",
    "d3 bench MODEL": "stands for any model and measures for minutes",
    "build/release/bin/": "measures for minutes, with checkpoints of full size",
    "python3 bench/": "measures for minutes, against PyTorch",
    "python3 tools/compare_tokenizer.py": "compares for minutes, against transformers",
}


def without_not_run(block):
    """The lines of a block that a test runs."""
    continued = re.compile(r"(?:.*\\\n)*.*\n?")
    return "".join(line for line in continued.findall(block) if not line.startswith(tuple(NOT_RUN)))


def commands():
    """Fenced blocks without curl, and the text before each on its page."""
    for page in PAGES:
        text = page.read_text()
        for block in BLOCK.finditer(text):
            if block[1] in ("sh", "console", "bash") and "curl" not in block[2]:
                line = text.count("\n", 0, block.start()) + 1
                yield pytest.param(text[:block.start()], block[2], id=f"{page.name}:{line}")


def write_shown_files(text, directory):
    """The files that a page shows before a command: a block whose text before it ends with the name."""
    end = 0
    for block in BLOCK.finditer(text):
        names = re.findall(r"`([\w-]+\.(?:json|jsonl|csv|tsv|toml))`", text[end:block.start()].split("\n\n")[-1])
        end = block.end()
        if block[1] in ("json", "csv", "toml") and names:
            (directory / names[-1]).write_text(block[2])


def keys(text):
    """The members of a JSON object, and of its `error` if it has one."""
    value = json.loads(text)
    return set(value) | {f"error.{key}" for key in value.get("error", {})}


@pytest.mark.parametrize("command, shown", list(examples("sh", "curl")))
def test_curl(server, takes_images, tmp_path, command, shown):
    assert ADDRESS in command
    shutil.copy(ROOT / "tests/data/media/short.mp4", tmp_path / "clip.mp4")
    result = subprocess.run(["sh", "-eu", "-c", without_not_run(command).replace(ADDRESS, server.url)],
                            cwd=tmp_path, capture_output=True, text=True)
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


@pytest.mark.parametrize("before, block", list(commands()))
def test_command(tmp_path, before, block):
    run = without_not_run(block)
    if not run:
        pytest.skip(next(why for start, why in NOT_RUN.items() if block.startswith(start)))
    write_shown_files(before, tmp_path)
    (tmp_path / "run").symlink_to(BIN / "d3")
    result = subprocess.run(["bash", "-euc", run], cwd=tmp_path, capture_output=True, text=True,
                            env=environment() | {"PATH": f"{BIN}:{os.environ['PATH']}"})
    assert result.returncode == 0, result.stderr
    if "answered.csv" in block:
        header, *rows = csv.reader((tmp_path / "answered.csv").read_text().splitlines())
        assert header == ["id", "text", "kind", "kind.probability", "tone", "tone.probability", "tone.score", "error"]
        assert [row[0] for row in rows] == ["17", "18"] and all(row[2] in ("refund", "help") for row in rows)


@pytest.mark.parametrize("program, shown", list(examples("cpp", "int main")))
def test_cpp(tmp_path, program, shown):
    """Built as an embedder would, with the library beside the program; demo stands for models on the hub."""
    library = BIN.parent / "src/library"
    (tmp_path / "program.cc").write_text(program.replace('"d3-nano"', '"demo"'))
    subprocess.run(["c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "program.cc", "-o", "program",
                    f"-I{ROOT / 'include'}", f"-L{library}", f"-Wl,-rpath,{library}", "-ld3"], cwd=tmp_path, check=True)
    result = subprocess.run(["./program"], cwd=tmp_path, capture_output=True, text=True, env=environment())
    assert result.returncode == 0, result.stderr
    assert re.fullmatch(r"(it|hr|true|false), [0-9.]+ %\n", result.stdout)


def test_there_are_examples():
    assert len(list(examples("sh", "curl"))) >= 5
