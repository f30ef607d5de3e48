"""/openapi.json against the server it describes: schemathesis sends what it allows and what it does not, alone and
along its links, and finds every answer as described."""

import os
import subprocess
import sys
from pathlib import Path

import server as servers

HERE = Path(__file__).resolve().parent


def test_schemathesis(checkpoint, tmp_path):
    running = servers.Server(checkpoint, "--served-model-name", "d3-nano", "--api-key", "secret",
                             "--dtype", "float32", "--max-length", "65536")
    try:
        result = subprocess.run(
            [Path(sys.executable).parent / "schemathesis", "run", running.url + "/openapi.json",
             "--header", "Authorization: Bearer secret", "--checks", "all", "--max-examples", "20",
             "--generation-deterministic", "--no-color"],
            cwd=tmp_path, env={**os.environ, "SCHEMATHESIS_HOOKS": "openapi_hooks", "PYTHONPATH": str(HERE)},
            capture_output=True, text=True)
    finally:
        stopped = running.stop()
    assert result.returncode == 0, result.stdout + result.stderr
    assert stopped == 0
    # What it did not reach it cannot have tested.
    assert "2 covered / 2 selected" in result.stdout, result.stdout
    for phase in ["Coverage", "Fuzzing", "Stateful"]:
        assert f"✅  {phase}" in result.stdout or f"✅ {phase}" in result.stdout, result.stdout
