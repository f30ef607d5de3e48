"""A hub on loopback that serves one directory as the model org/model, as Hugging Face does: a list of files with
sizes and digests, small files from the hub itself, large ones by a redirect to another host."""

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

REPO = "org/model"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


class File:
    def __init__(self, path):
        self.bytes = path.read_bytes()
        self.large = path.suffix == ".safetensors"
        self.sha1 = hashlib.sha1(b"blob %d\0" % len(self.bytes) + self.bytes).hexdigest()
        self.sha256 = hashlib.sha256(self.bytes).hexdigest()
        self.etag = self.sha256 if self.large else self.sha1


class Hub:
    def __init__(self, directory):
        self.files = {path.name: File(path) for path in Path(directory).iterdir()}
        self.gets = []  # the files whose content was asked for
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_HEAD(self):
                self.do_GET()

            def do_GET(self):
                hub.answer(self)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.storage = f"http://localhost:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, request):
        path = unquote(urlsplit(request.path).path)
        resolve = f"/{REPO}/resolve/"
        if path in (f"/api/models/{REPO}/revision/main", f"/api/models/{REPO}/revision/{COMMIT}", f"/api/models/{REPO}"):
            send(request, 200, json.dumps(self.listing()).encode(), {"Content-Type": "application/json"})
        elif path == f"/api/models/{REPO}/tree/{COMMIT}":
            send(request, 200, json.dumps(self.tree()).encode(), {"Content-Type": "application/json"})
        elif path.startswith("/storage/"):
            name = path.removeprefix("/storage/")
            file = self.files[name]
            assert "Authorization" not in request.headers
            if request.command == "GET":
                self.gets.append(name)
            send(request, 200, file.bytes, {"ETag": f'"{file.etag}"'})
        elif path.startswith(resolve) and path.split("/")[4] in ("main", COMMIT):
            self.resolve(request, path.split("/", 5)[5])
        else:
            send(request, 404, b"{}", {"X-Error-Code": "RepoNotFound"})

    def resolve(self, request, name):
        file = self.files.get(name)
        if request.command == "GET" and not (file and file.large):
            self.gets.append(name)
        if file is None:
            send(request, 404, b"", {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": COMMIT})
        elif file.large:
            send(request, 302, b"", {"Location": f"{self.storage}/storage/{name}", "X-Repo-Commit": COMMIT,
                                     "X-Linked-Etag": f'"{file.etag}"', "X-Linked-Size": str(len(file.bytes))})
        else:
            send(request, 200, file.bytes, {"ETag": f'"{file.etag}"', "X-Repo-Commit": COMMIT})

    def listing(self):
        siblings = []
        for name, file in self.files.items():
            entry = {"rfilename": name, "size": len(file.bytes), "blobId": file.sha1}
            if file.large:
                entry["lfs"] = {"sha256": file.sha256, "size": len(file.bytes), "pointerSize": 130}
            siblings.append(entry)
        return {"id": REPO, "modelId": REPO, "sha": COMMIT, "private": False, "gated": False, "disabled": False,
                "downloads": 0, "likes": 0, "tags": [], "siblings": siblings}

    def tree(self):
        entries = []
        for name, file in self.files.items():
            entry = {"type": "file", "path": name, "size": len(file.bytes), "oid": file.sha1}
            if file.large:
                entry["lfs"] = {"oid": file.sha256, "size": len(file.bytes), "pointerSize": 130}
            entries.append(entry)
        return entries


def send(request, status, body, headers):
    wanted = request.headers.get("Range")
    if status == 200 and wanted:
        first, last = wanted.removeprefix("bytes=").split("-")
        first, last = int(first), min(int(last or len(body) - 1), len(body) - 1)
        headers = {**headers, "Content-Range": f"bytes {first}-{last}/{len(body)}"}
        status, body = 206, body[first:last + 1]
    request.send_response(status)
    for name, value in {**headers, "Content-Length": str(len(body))}.items():
        request.send_header(name, value)
    request.end_headers()
    if request.command == "GET":
        request.wfile.write(body)
