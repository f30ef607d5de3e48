"""A real `d3 serve` on a free port with a small checkpoint of random weights."""

import json
import os
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import NamedTuple

BIN = Path(os.environ["D3_BIN"])
ROOT = Path(__file__).resolve().parents[2]
TEXT = json.dumps({"state": "x", "questions": {"q": {"type": "noul"}}})


def environment():
    """The test's own, without a developer's configuration."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("D3_")}
    return kept | {"XDG_CONFIG_HOME": "/nonexistent"}


def make_checkpoint(directory):
    subprocess.run([BIN / "make_tiny", directory, "tiny"], check=True)
    return directory


class Reply(NamedTuple):
    status: int
    headers: dict
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


class Server:
    def __init__(self, checkpoint, *options, port=0):
        self.process = subprocess.Popen(
            [BIN / "d3", "serve", checkpoint, "--port", str(port), "--log-level", "warn", *options],
            stdout=subprocess.PIPE, text=True, env=environment())
        line = self.process.stdout.readline()
        if "http://" not in line:
            raise RuntimeError(f"d3 serve ended with {self.process.wait()}")
        self.url = "http://" + line.strip().split("http://")[1]
        while self.request("GET", "/health").status != 200:
            if self.process.poll() is not None:
                raise RuntimeError(f"d3 serve ended with {self.process.returncode}")
            time.sleep(0.02)

    def request(self, method, path, body=None, content_type=None, **headers):
        data = body.encode() if isinstance(body, str) else body
        request = urllib.request.Request(self.url + path, method=method, data=data, headers=headers)
        if content_type is not None:
            request.add_header("content-type", content_type)
        elif data is not None:
            # urllib would send a type of its own.
            request.add_unredirected_header("content-type", "")
        try:
            with urllib.request.urlopen(request) as response:
                return Reply(response.status, dict(response.headers), response.read())
        except urllib.error.HTTPError as error:
            return Reply(error.code, dict(error.headers), error.read())

    def post(self, path, value, **headers):
        return self.request("POST", path, json.dumps(value), "application/json", **headers)

    def stop(self):
        self.process.terminate()
        return self.process.wait()
