import base64

import pytest

import server as servers

# 8 x 8 pixels, gray.
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAAAAADhZOFXAAAAFElEQVR42mNgUHBIaFhw4AEDZQwAxnUcAYqwUcEAAAAASUVORK5CYII=")


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory):
    return servers.make_checkpoint(tmp_path_factory.mktemp("checkpoint"))


@pytest.fixture(scope="session")
def server():
    """The server of most tests: the demonstration model, called as the documentation's examples call the real one."""
    running = servers.Server("demo", "--served-model-name", "d3-nano", "--dtype", "float32", "--max-length", "8192")
    yield running
    assert running.stop() == 0


@pytest.fixture(scope="session")
def narrow_server(checkpoint):
    """Wants a key and has room for one request."""
    running = servers.Server(checkpoint, "--api-key", "secret", "--max-queue", "1", "--threads", "1",
                             "--dtype", "float32", "--max-body", "1MiB")
    yield running
    assert running.stop() == 0


@pytest.fixture(scope="session")
def png():
    return PNG


@pytest.fixture(scope="session")
def takes_images(server, png):
    """Whether the server answers about images; where it does not, it says so in one way."""
    url = "data:image/png;base64," + base64.b64encode(png).decode()
    reply = server.post("/v1/systemone", {"state": "x", "questions": {"q": {"type": "noul"}}, "images": [url]})
    if reply.status != 200:
        assert reply.status == 400 and reply.json["error"]["param"] == "images", reply
    return reply.status == 200
