"""One cache, two clients: what `d3 pull` wrote is Hugging Face's client's, and the other way round."""

import os
import subprocess
import sys
import textwrap

import pytest

from hub import COMMIT, REPO, Hub
from server import BIN, Server, TEXT


@pytest.fixture
def hub(checkpoint):
    hub = Hub(checkpoint)
    yield hub
    hub.stop()


@pytest.fixture
def environment(hub, tmp_path):
    """Of a user who has this hub and an empty cache."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("D3_", "HF_", "HUGGING")) and not name.lower().endswith("_proxy")}
    return {**kept, "HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "home"), "HF_TOKEN": "hf_secret",
            "HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}


def d3(environment, *arguments):
    result = subprocess.run([BIN / "d3", *arguments], env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


def start_python(environment, program):
    """huggingface_hub reads its environment when it is imported: a process of its own."""
    return subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], env=environment, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def python(environment, program):
    process = start_python(environment, program)
    out, errors = process.communicate()
    assert process.returncode == 0, errors
    return out


SNAPSHOT = f"from huggingface_hub import snapshot_download; print(snapshot_download('{REPO}'))"


def test_python_reads_what_d3_pulled(hub, environment):
    directory = d3(environment, "pull", REPO).strip()
    pulled = len(hub.gets)
    assert python(environment, f"""
        from huggingface_hub import snapshot_download
        print(snapshot_download('{REPO}', local_files_only=True))""").strip() == directory
    # Online too: all is there, nothing is fetched.
    assert python(environment, SNAPSHOT).strip() == directory
    assert python(environment, f"""
        from huggingface_hub import hf_hub_download
        print(hf_hub_download('{REPO}', 'model.safetensors'))""").strip() == directory + "/model.safetensors"
    assert len(hub.gets) == pulled


def test_pythons_scan_finds_nothing_wrong(hub, environment):
    d3(environment, "pull", REPO)
    assert python(environment, """
        from huggingface_hub import scan_cache_dir
        info = scan_cache_dir()
        assert not info.warnings, info.warnings
        repo, = info.repos
        revision, = repo.revisions
        print(repo.repo_id, revision.commit_hash, *revision.refs, len(revision.files))""").split() == \
        [REPO, COMMIT, "main", str(len(hub.files))]


def test_d3_reads_what_python_pulled(hub, environment):
    directory = python(environment, SNAPSHOT).strip()
    pulled = len(hub.gets)
    assert d3(environment, "pull", REPO).strip() == directory
    assert len(hub.gets) == pulled
    assert d3({**environment, "HF_HUB_OFFLINE": "1"}, "inspect", REPO, "--verify", "full").startswith(directory)
    assert d3(environment, "list").split()[:3] == [REPO, "main", COMMIT[:8]]
    d3(environment, "rm", REPO)
    assert python(environment, """
        from huggingface_hub import scan_cache_dir
        print(len(scan_cache_dir().repos))""").strip() == "0"


def test_each_goes_on_where_the_other_stopped(hub, environment):
    python(environment, f"""
        from huggingface_hub import hf_hub_download
        hf_hub_download('{REPO}', 'model.safetensors'); hf_hub_download('{REPO}', 'config.json')""")
    d3(environment, "pull", REPO)
    python(environment, SNAPSHOT)
    assert sorted(hub.gets) == sorted(hub.files)


def test_both_pull_at_once(hub, environment):
    processes = [start_python(environment, SNAPSHOT) for _ in range(2)]
    directory = d3(environment, "pull", REPO).strip()
    for process in processes:
        out, errors = process.communicate()
        assert process.returncode == 0, errors
        assert out.strip() == directory
    assert sorted(hub.gets) == sorted(hub.files)  # each file came once
    d3({**environment, "HF_HUB_OFFLINE": "1"}, "inspect", REPO, "--verify", "full")


def test_both_refuse_the_same_names(environment):
    """The rules for names are huggingface_hub's."""
    names = ["vllm-sr/d3-nano", "a/b", "a", "a.b/c-d_e", "", "a/b/c", ".a/b", "a/b.", "a--b/c", "a..b/c", "a/b.git", "-a/b",
             "a-/b", "_a/b_", "a b/c", "é/b", "x" * 96 + "/b", "x" * 97 + "/b"]
    accepted = python(environment, f"""
        from huggingface_hub.utils import validate_repo_id
        from huggingface_hub.errors import HFValidationError
        for name in {names!r}:
            try:
                validate_repo_id(name); print(1)
            except HFValidationError:
                print(0)""").split()
    for name, valid in zip(names, accepted, strict=True):
        result = subprocess.run([BIN / "d3", "rm", "--", name], env=environment, capture_output=True, text=True)
        refused = "cannot be the name of a model" in result.stderr
        assert refused == (valid == "0"), (name, result.stderr)


def test_serve_by_name(hub, environment, monkeypatch):
    for name, value in environment.items():
        if name.startswith("HF_"):
            monkeypatch.setenv(name, value)
    server = Server(REPO, "--dtype", "float32")
    reply = server.request("POST", "/v1/systemone", TEXT, "application/json")
    assert reply.status == 200 and reply.json["model"] == REPO
    assert server.stop() == 0
