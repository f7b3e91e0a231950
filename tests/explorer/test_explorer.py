"""The explorer's API: its results equal those of the library, and it refuses invalid and foreign requests."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import http.client
import json
import math
import os
import signal
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx")

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.testclient import TestClient

from posvec.evaluation import analogy, clusters, context_words, examples, masked, neighborhood, positions, similarity
from posvec.evaluation.compression import compress_model
from posvec.explorer import evaluations, timeouts
from posvec.explorer.application import listen, make_application, page_url
from posvec.explorer.loaded_models import LoadedModel, load_models, warming_up
from posvec.explorer.schemas import ModelDetails
from posvec.explorer.security import MAX_BODY_BYTES, MAX_HEAD_BYTES, SecurityMiddleware, is_known_host
from posvec.model import Model
from posvec.presets import MODELS, make_config
from posvec.system.threads import thread_count
from posvec.vocabulary import Vocabulary

SENTENCE = "unlike dogs cats [MASK]"
QUESTIONS = ": animals\nman king woman queen\ndog dogs cat cats\n: else\nman xyzzyx woman queen\n"
PAIRS = "cat\tdog\t8\nman\tking\t6\nfruit\tking\t1\nqueen\twoman\t7\n"


@pytest.fixture(scope="module")
def model(loaded_models: dict[str, LoadedModel]) -> Model:
    return loaded_models["constrained"].model


@pytest.fixture(scope="module")
def client(loaded_models: dict[str, LoadedModel]) -> TestClient:
    return TestClient(make_application(loaded_models), "http://127.0.0.1:8000")


@pytest.fixture(scope="module")
def ask(client: TestClient) -> Callable[..., Any]:
    def get(path: str, status: int = 200, /, **parameters: Any) -> Any:
        answer = client.get(f"/api/{path}", params={"model": "constrained", **parameters})
        assert answer.status_code == status, answer.text
        return answer.json()

    return get


def as_json(result: Any) -> Any:
    return json.loads(json.dumps(result.to_dict()))


# ---- results equal those of the library -------------------------------------------------------------------------


def test_predictions_and_explanations_equal_those_of_the_library(ask: Callable[..., Any], model: Model) -> None:
    assert ask("masked", sentence=SENTENCE, topn=5) == as_json(masked.predict(model, SENTENCE, 5))
    named = ask("masked", sentence=SENTENCE, topn=1, word=["mew", "bark"])
    assert named == as_json(masked.predict(model, SENTENCE, 1, ["mew", "bark"]))
    why = ask("explanation", sentence=SENTENCE, word="mew")
    assert why == as_json(masked.explain(model, SENTENCE, "mew"))
    total = why["prior"] + sum(each["value"] for each in why["contributions"])
    assert math.exp(total) == pytest.approx(why["probability"])


def test_predictions_can_be_scored_by_one_cluster(ask: Callable[..., Any], model: Model) -> None:
    name = clusters.find(model).names[0]
    assert ask("masked", sentence=SENTENCE, cluster=name) == as_json(masked.predict(model, SENTENCE, cluster=name))
    assert "there is no cluster" in ask("masked", 400, sentence=SENTENCE, cluster="middle")["error"]


def test_positions_clusters_and_context_words_equal_those_of_the_library(ask: Callable[..., Any], model: Model) -> None:
    found = clusters.find(model)
    assert ask("positions") == as_json(positions.importance({"constrained": model}))
    answer = ask("clusters")
    weights = answer.pop("weights")
    assert answer == as_json(found)
    assert np.allclose(weights, np.abs(model.positional_vectors), atol=1e-5)
    top = context_words.top(model, found, 7, restrict_vocab=20, order="importance")
    assert ask("context-words", topn=7, restrict_vocab=20, order="importance") == as_json(top)
    assert ask("examples") == as_json(examples.find(model, found))


def test_queries_of_words_equal_those_of_the_library(ask: Callable[..., Any], model: Model) -> None:
    vectors = model.vectors
    near = [{"word": word, "similarity": similarity} for word, similarity in vectors.most_similar("cat", topn=3)]
    assert ask("neighbors", word="cat", topn=3) == near
    pair = ask("similarity", first="cat", second="dog")
    assert pair["similarity"] == pytest.approx(vectors.similarity("cat", "dog"))
    assert pair["rank"] == vectors.rank("cat", "dog")
    for method, function in (("3cosadd", vectors.most_similar), ("3cosmul", vectors.most_similar_cosmul)):
        expected = [each.word for each in function(["king", "woman"], ["man"], topn=4)]
        found = ask("analogy", a="man", b="king", c="woman", topn=4, method=method)
        assert [each["word"] for each in found] == expected
    assert ask("map", word="cat", topn=9) == as_json(neighborhood.find(model, "cat", 9))


def test_a_word_is_described_with_its_parts(ask: Callable[..., Any], model: Model) -> None:
    known, made = ask("word", word="dogs"), ask("word", word="dogscats")
    assert known["in_vocabulary"]
    assert known["count"] == model.vocabulary.counts[model.vocabulary.index["dogs"]]
    assert known["rank"] == model.vocabulary.index["dogs"] + 1
    assert known["parts"][0]["text"] == "dogs"
    assert not made["in_vocabulary"]
    assert made["count"] is None
    for answer in (known, made):
        assert sum(part["fraction"] or 0 for part in answer["parts"]) == pytest.approx(1, abs=1e-5)
    assert "<dog" in [part["text"] for part in made["parts"] if part["fraction"] is not None]


def test_models_are_listed_and_described(client: TestClient, ask: Callable[..., Any], model: Model) -> None:
    listed = client.get("/api/models").json()
    assert [(each["name"], each["kind"]) for each in listed] == [("constrained", "constrained"), ("subword", "subword")]
    assert listed[0]["words"] == len(model.vocabulary)
    details = ask("model")
    assert details["summary"] == listed[0]
    assert details["report"] == json.loads(json.dumps(model.report.to_dict() if model.report else None))
    assert {each["name"]: each["value"] for each in details["settings"]}["dim"] == 16
    assert details["bytes"] == sum(
        each.nbytes for each in (model.input_vectors, model.output_vectors, model.positional_vectors)
    )


@pytest.mark.parametrize("kind", MODELS)
def test_settings_are_compared_with_the_defaults_of_the_kind_of_model(kind: str) -> None:
    def changed(**settings: Any) -> dict[str, Any]:
        small = {"dim": 20, "buckets": 5} if kind != "general" else {"dim": 20}
        config = make_config(kind, **{**small, **settings})
        model = Model.create(config, Vocabulary.from_counts({"cat": 9, "dog": 8}, config.vocabulary))
        details = ModelDetails.of(LoadedModel(kind, model))
        return {each.name: (each.value, each.default) for each in details.settings if each.value != each.default}

    own = {"dim": (20, MODELS[kind]["dim"]), **({"buckets": (5, 2_000_000)} if kind != "general" else {})}
    assert changed() == own
    assert changed(epochs=3, window=7) == {**own, "epochs": (3, 5), "window": (7, MODELS[kind]["window"])}
    assert changed(context_mean="words") == {**own, "context_mean": ("words", "rows")}


def test_models_without_positions_are_refused_with_a_reason(ask: Callable[..., Any]) -> None:
    for path in ("positions", "clusters", "examples", "context-words"):
        assert "has no positional vectors" in ask(path, 400, model="subword")["error"]


# ---- invalid input and limits -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "parameters", "status", "said"),
    [
        ("masked", {"sentence": "no gap here"}, 400, "exactly one [MASK]"),
        ("masked", {"sentence": ""}, 400, "exactly one [MASK]"),
        ("masked", {"sentence": "[MASK]"}, 200, "no word of the sentence"),
        ("masked", {"sentence": "a " * 1001 + "[MASK]"}, 422, "sentence: "),
        ("masked", {"sentence": SENTENCE, "topn": 101}, 422, "topn: "),
        ("masked", {"sentence": SENTENCE, "topn": 0}, 422, "topn: "),
        ("masked", {"sentence": SENTENCE, "topn": "many"}, 422, "topn: "),
        ("masked", {"sentence": SENTENCE, "word": ["cat"] * 21}, 422, "word: "),
        ("masked", {}, 422, "sentence: "),
        ("explanation", {"sentence": SENTENCE, "word": "xyzzyx"}, 200, "cannot predict xyzzyx"),
        ("neighbors", {"word": "w" * 201}, 422, "word: "),
        ("neighbors", {"word": ""}, 422, "word: "),
        ("neighbors", {"word": "ÿ"}, 200, "no vector for 'ÿ'"),
        ("map", {"word": "cat", "topn": 1000}, 422, "topn: "),
        ("neighbors", {"word": "cat", "model": "../subword"}, 404, "there is no model '../subword'"),
        ("model", {"model": "/etc/passwd"}, 404, "the loaded models are constrained, subword"),
        ("nothing", {}, 404, "Not Found"),
    ],
)
def test_invalid_requests_are_refused_with_one_sentence(
    ask: Callable[..., Any], path: str, parameters: dict[str, Any], status: int, said: str
) -> None:
    answer = ask(path, status, **parameters)
    assert list(answer) == ["error"]
    assert said in answer["error"]


@pytest.mark.parametrize(
    "path", ["/static/../application.py", "/static/%2e%2e/application.py", "/static//etc/passwd", "/etc/passwd", "/api"]
)
def test_other_files_on_disk_are_not_served(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 404


def test_each_view_has_an_address(client: TestClient) -> None:
    assert client.get("/", follow_redirects=False).headers["location"].endswith("gap")
    for view in ("gap", "positions", "words", "model"):
        answer = client.get(f"/{view}?sentence=a")
        assert answer.status_code == 200
        assert answer.text.startswith("<!DOCTYPE html>")
    assert client.get("/static/app.js").headers["content-type"].startswith("text/javascript")


# ---- hosts and origins ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "path", "status"),
    [
        ({}, "/api/models", 200),
        ({"host": "localhost:8000"}, "/api/models", 200),
        ({"host": "[::1]:8000"}, "/api/models", 200),
        ({"host": "evil.example"}, "/api/models", 421),
        ({"host": "evil.example"}, "/gap", 421),
        ({"host": "127.0.0.1.evil.example:8000"}, "/api/models", 421),
        ({"host": "192.168.0.7"}, "/api/models", 421),
        ({"host": ""}, "/api/models", 421),
        ({"host": "[::1"}, "/api/models", 421),
        ({"origin": "http://127.0.0.1:8000"}, "/api/models", 200),
        ({"origin": "http://127.0.0.1:9000"}, "/api/models", 403),
        ({"origin": "https://evil.example"}, "/api/models", 403),
        ({"origin": "https://evil.example"}, "/gap", 403),
        ({"origin": "null"}, "/api/models", 403),
        ({"origin": "http://[evil"}, "/api/models", 403),
        ({"sec-fetch-site": "same-origin"}, "/api/models", 200),
        ({"sec-fetch-site": "cross-site"}, "/api/models", 403),
        ({"sec-fetch-site": "same-site"}, "/api/models", 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, "/api/models", 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, "/static/app.js", 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, "/gap", 200),
    ],
)
def test_only_requests_of_the_page_itself_are_answered(
    client: TestClient, headers: dict[str, str], path: str, status: int
) -> None:
    answer = client.get(path, headers=headers)
    assert answer.status_code == status
    if status != 200:
        assert list(answer.json()) == ["error"]
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    ("name", "listening", "known"),
    [
        ("127.0.0.1", "127.0.0.1", True),
        ("127.0.0.2", "127.0.0.1", True),
        ("10.0.0.1", "127.0.0.1", False),
        ("10.0.0.1", "0.0.0.0", True),
        ("fe80::1", "::", True),
        ("evil.example", "0.0.0.0", False),
        (socket.gethostname().lower(), "0.0.0.0", True),
        ("models.example", "models.example", True),
        ("other.example", "models.example", False),
        ("", "0.0.0.0", False),
    ],
)
def test_a_server_recognizes_its_host_names(name: str, listening: str, known: bool) -> None:
    assert is_known_host(name, listening) == known


def test_websockets_are_refused(client: TestClient) -> None:
    from starlette.websockets import WebSocketDisconnect

    with pytest.raises(WebSocketDisconnect), client.websocket_connect("ws://127.0.0.1:8000/api/models"):
        pass


@pytest.mark.parametrize(
    ("method", "headers", "status"),
    [
        ("OPTIONS", {"origin": "https://evil.example", "access-control-request-method": "POST"}, 403),
        ("OPTIONS", {}, 405),
        ("POST", {"origin": "https://evil.example", "content-type": "text/plain"}, 403),
        ("POST", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, 403),
        ("POST", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, 403),
        ("POST", {"host": "evil.example"}, 421),
        ("POST", {"content-length": "9" * 5000}, 413),
        ("POST", {"content-length": "-1"}, 413),
    ],
)
def test_other_sites_cannot_send_files(client: TestClient, method: str, headers: dict[str, str], status: int) -> None:
    parameters = {"model": "constrained", "name": "a"}
    answer = client.request(method, "/api/evaluation", params=parameters, headers=headers, content=b"man king")
    assert answer.status_code == status
    assert "access-control-allow-origin" not in answer.headers


# ---- malformed requests, sent as bytes over a socket ------------------------------------------------------------


def connect(site: str) -> socket.socket:
    host, _, port = site.removeprefix("http://").partition(":")
    return socket.create_connection((host, int(port)), timeout=20)


def send_bytes(site: str, text: str) -> str:
    """The response to these bytes, until the server closes the connection."""
    with connect(site) as connection:
        connection.sendall(text.encode())
        return read_all(connection)


def read_all(connection: socket.socket) -> str:
    parts = []
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(1 << 16):
            parts.append(part)
    return b"".join(parts).decode()


@pytest.mark.parametrize(
    "path",
    [
        "/static/../application.py",
        "/static/../../../../../../../../etc/passwd",
        "/static/%2e%2e/application.py",
        "/static/..%2fapplication.py",
        "/static/%2e%2e%2f%2e%2e%2fconfig.py",
        "/static/..%252fapplication.py",
        "/static/..%5capplication.py",
        "/static/..\\application.py",
        "/static/%00/etc/passwd",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/static/" + "a/../" * 100 + "../../config.py",
        "//etc/passwd",
        "/../../etc/passwd",
        "file:///etc/passwd",
        "/api/model?model=../../etc/passwd",
        "/api/model?model=%2fetc%2fpasswd%00",
    ],
)
def test_no_path_leads_out_of_the_static_folder(site: str, path: str) -> None:
    answer = send_bytes(site, f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
    assert answer.split(" ")[1] in ("400", "404"), answer
    assert "root:" not in answer
    assert "import" not in answer


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("GET /api/models HTTP/1.1\r\nHost: 127.0.0.1", "200"),
        ("GET /api/models HTTP/1.1\r\nHost: rebound.example", "421"),
        ("GET http://127.0.0.1/api/models HTTP/1.1\r\nHost: rebound.example", "421"),
        ("GET /api/models HTTP/1.1\r\nHost: rebound.example@127.0.0.1", "421"),
        ("GET /api/models HTTP/1.1\r\nHost: 127.0.0.1/rebound.example", "421"),
        ("GET /api/models HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: rebound.example", "400"),
        ("GET /api/models HTTP/1.1\r\nX-Forwarded-Host: 127.0.0.1\r\nHost: rebound.example", "421"),
        ("GET /api/models HTTP/1.1", "400"),
        ("GET /api/models HTTP/1.0", "421"),
        ("POST /api/evaluation HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1\r\nTransfer-Encoding: x", "400"),
        ("\0\1\2", "400"),
    ],
)
def test_requests_with_foreign_or_repeated_hosts_are_refused(site: str, head: str, status: str) -> None:
    answer = send_bytes(site, f"{head}\r\nConnection: close\r\n\r\n")
    assert answer.split(" ")[1] == status, answer


@pytest.mark.parametrize(
    "endless", ["GET /", "GET /gap HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ", "GET /gap HTTP/1.1\r\nX: x"]
)
def test_endless_request_heads_are_cut_off(site: str, endless: str) -> None:
    with connect(site) as connection, pytest.raises(ConnectionError):  # noqa: PT012
        for _ in range(1000):
            connection.sendall(f"{endless}{'x' * 50_000}".encode())


def test_long_heads_are_refused_whether_they_arrive_whole_or_in_parts(site: str) -> None:
    for size, parts, statuses in ((MAX_HEAD_BYTES - 1000, 5, "200"), (MAX_HEAD_BYTES + 1000, 1, "431"),
                                  (MAX_HEAD_BYTES + 1000, 5, "400 431")):  # fmt: skip
        head = f"GET /api/models HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nX: {'x' * size}\r\n\r\n".encode()
        with connect(site) as connection:
            step = -(-len(head) // parts)
            for begin in range(0, len(head), step):
                connection.sendall(head[begin : begin + step])
                time.sleep(0.02)
            answer = connection.recv(4096).decode()
        assert answer.split(" ")[1] in statuses.split(), (size, parts, answer)


def test_a_request_with_two_hosts_is_refused(loaded_models: dict[str, LoadedModel]) -> None:
    answers: list[Any] = []

    async def send(message: Any) -> None:
        answers.append(message)

    scope = {"type": "http", "path": "/gap", "headers": [(b"host", b"rebound.example"), (b"Host", b"127.0.0.1")]}
    asyncio.run(make_application(loaded_models)(scope, lambda: asyncio.sleep(0), send))  # type: ignore[arg-type, return-value]
    assert answers[0]["status"] == 421


@pytest.fixture
def with_short_timeouts(site: str, monkeypatch: pytest.MonkeyPatch) -> str:
    for name in ("HEAD_SECONDS", "BODY_SECONDS", "RESPONSE_SECONDS"):
        monkeypatch.setattr(timeouts, name, 0.3)
    return site


@pytest.mark.parametrize(
    "begun",
    [
        "",
        "GET /api/models HT",
        "GET /api/models HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ",
        "POST /api/evaluation?model=constrained&name=a HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n",
        "POST /api/evaluation?model=constrained&name=a HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        "Transfer-Encoding: chunked\r\n\r\n1\r\nm\r\n",
    ],
)
@pytest.mark.parametrize("drops", [False, True])
def test_a_client_that_sends_too_slowly_is_disconnected(with_short_timeouts: str, begun: str, drops: bool) -> None:
    with connect(with_short_timeouts) as connection:
        connection.sendall(begun.encode())
        connection.settimeout(0.05)
        began = time.monotonic()
        while time.monotonic() < began + 20:
            with contextlib.suppress(TimeoutError):
                try:
                    if not connection.recv(1000):
                        break
                except ConnectionError:
                    break
            if drops:  # single bytes do not extend the timeout
                with contextlib.suppress(ConnectionError):
                    connection.sendall(b"1\r\nm\r\n" if "chunked" in begun else b"x")
        assert 0.2 < time.monotonic() - began < 10
    with urllib.request.urlopen(f"{with_short_timeouts}/api/models", timeout=20) as answer:
        assert answer.status == 200


def test_a_client_that_does_not_read_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    import uvicorn

    monkeypatch.setattr(timeouts, "RESPONSE_SECONDS", 0.3)

    async def endless(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while True:
            await send({"type": "http.response.body", "body": bytes(1 << 16), "more_body": True})
            if not server.server_state.connections:
                return

    server = uvicorn.Server(uvicorn.Config(endless, http=timeouts.TimeoutProtocol, lifespan="off", log_level="error"))
    with listen("127.0.0.1", 0) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            with socket.create_connection(listening.getsockname(), timeout=20) as connection:
                connection.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                assert connection.recv(1) == b"H"
                ended = time.monotonic() + 20
                while server.server_state.connections and time.monotonic() < ended:
                    time.sleep(0.05)
                assert not server.server_state.connections
        finally:
            server.should_exit = True
            thread.join(20)


def test_idle_connections_do_not_block_other_clients_for_long(with_short_timeouts: str) -> None:
    idle = [connect(with_short_timeouts) for _ in range(220)]
    try:
        began = time.monotonic()
        while time.monotonic() < began + 20:
            with contextlib.suppress(urllib.error.HTTPError):  # 503 while there are too many
                urllib.request.urlopen(f"{with_short_timeouts}/api/models", timeout=20).close()
                break
        assert time.monotonic() - began < 10
    finally:
        for connection in idle:
            connection.close()


def test_a_connection_that_is_kept_alive_has_no_timeout_between_requests(with_short_timeouts: str) -> None:
    connection = http.client.HTTPConnection(with_short_timeouts.removeprefix("http://"))
    for _ in range(3):
        connection.request("GET", "/api/models")
        held = connection.sock
        assert connection.getresponse().read()
        time.sleep(0.4)  # longer than the timeout of a request head
        assert connection.sock is held


def test_simultaneous_requests_are_limited_to_the_number_of_cores(site: str, monkeypatch: pytest.MonkeyPatch) -> None:
    working: list[int] = []
    most = 0

    def find(*given: Any) -> neighborhood.Neighborhood:
        nonlocal most
        working.append(1)
        most = max(most, len(working))
        time.sleep(0.02)
        working.pop()
        return neighborhood.Neighborhood("cat", (), 1.0)

    monkeypatch.setattr(neighborhood, "find", find)
    with ThreadPoolExecutor(30) as pool:
        asked = [pool.submit(urllib.request.urlopen, f"{site}/api/map?model=subword&word=cat") for _ in range(30)]
        assert [each.result().status for each in asked] == [200] * 30
    assert most <= max(2, thread_count(0))


# ---- evaluation of files ----------------------------------------------------------------------------------------


def evaluated(client: TestClient, content: bytes | str, **parameters: Any) -> list[dict[str, Any]]:
    answer = client.post(
        "/api/evaluation", params={"model": "constrained", "name": "questions.txt", **parameters}, content=content
    )
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


def test_a_file_of_analogies_is_evaluated_with_progress(client: TestClient, model: Model, tmp_path: Path) -> None:
    *progress, last = evaluated(client, QUESTIONS)
    assert [each["progress"] for each in progress] == [0, 1]
    assert last["kind"] == "analogy"
    path = tmp_path / "questions.txt"
    path.write_text(QUESTIONS)
    expected = as_json(analogy.evaluate(model, path))
    assert last["result"] == {**expected, "questions": ["questions.txt"]}
    assert last["result"]["coverage"] == pytest.approx(2 / 3)


def test_a_file_of_pairs_is_distinguished_from_analogies(client: TestClient, model: Model, tmp_path: Path) -> None:
    path = tmp_path / "questions.txt"
    path.write_text(PAIRS)
    last = evaluated(client, PAIRS)[-1]
    assert last == {"kind": "similarity", "result": as_json(similarity.evaluate(model, path))}
    assert evaluated(client, PAIRS, kind="similarity")[-1] == last
    assert "fields instead of" in evaluated(client, PAIRS, kind="analogy")[-1]["error"]


@pytest.mark.parametrize(
    ("content", "name", "said"),
    [
        (b"man king woman queen\nman king\n", "a.txt", "a.txt, line 2: 2 fields instead of four"),
        (b" \n", "a.txt", "the file is empty"),
        (b"\x1f\x8b\x08\x00", "a.gz", "a.gz is compressed; unpack it first"),
        (b"\xff\xfe\x00", "a.txt", "a.txt, line 1: byte 1 is not UTF-8"),
        (b"xy zz xz yy\n", "../../etc/a*.txt", "none of the 1 questions of "),
        (b"xy zz xz\n", "ÿ" * 200, f"{'ÿ' * 60}, line 1: 3 fields"),
        (b"cat dog 1\nman king 1\n", "..", "all pairs of file have the score 1"),
    ],
)
def test_invalid_files_are_refused_with_one_sentence(client: TestClient, content: bytes, name: str, said: str) -> None:
    told = evaluated(client, content, name=name)[-1]["error"]
    assert said in told
    assert "posvec-" not in told  # the temporary folder


def test_large_files_are_refused_with_or_without_a_content_length(client: TestClient) -> None:
    def parts() -> Iterator[bytes]:
        for _ in range(MAX_BODY_BYTES // 2**20 + 1):
            yield b"a b c d\n" * 2**17

    for content in (b"x" * (MAX_BODY_BYTES + 1), parts()):
        answer = client.post("/api/evaluation", params={"model": "constrained", "name": "a"}, content=content)
        assert answer.status_code == 413
        assert "16,777,216 bytes" in answer.json()["error"]


def test_an_abandoned_evaluation_ends_at_its_next_step(model: Model) -> None:
    async def abandon() -> None:
        async def vanished() -> dict[str, Any]:
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        running = evaluations.EvaluationResponse(model, QUESTIONS.encode(), "a", "auto")
        await running({"type": "http"}, vanished, send)

    sent: list[Any] = []
    with evaluations.running_lock:
        asyncio.run(abandon())
    for thread in threading.enumerate():
        if thread.name == "posvec-explorer-evaluation":
            thread.join(10)
    assert not evaluations.running_lock.locked()
    assert all(b"result" not in message.get("body", b"") for message in sent)


def test_a_second_evaluation_is_refused_until_the_client_of_the_first_disconnects(site: str) -> None:
    def start() -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        connection = http.client.HTTPConnection(site.removeprefix("http://"))
        connection.request("POST", "/api/evaluation?model=constrained&name=a", QUESTIONS)
        return connection, connection.getresponse()

    with evaluations.running_lock:  # held: stands for an evaluation whose next step takes long
        connection, first = start()
        _, second = start()
        assert (first.status, second.status) == (200, 429)
        assert "another evaluation is running" in json.load(second)["error"]
        first.close()
        connection.close()
        deadline = time.monotonic() + 10
        while (third := start()[1]).status == 429 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert third.status == 200  # although the first has not ended
    assert json.loads(third.read().splitlines()[-1])["kind"] == "analogy"


def test_an_incomplete_upload_does_not_block_other_evaluations(site: str, capfd: pytest.CaptureFixture[str]) -> None:
    host, _, port = site.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port))) as connection:
        head = f"POST /api/evaluation?model=constrained&name=a HTTP/1.1\r\nHost: {host}\r\nContent-Length: 1000\r\n\r\n"
        connection.sendall(head.encode() + b"man king woman queen\n")
    with urllib.request.urlopen(f"{site}/api/evaluation?model=constrained&name=a", QUESTIONS.encode()) as answer:
        assert answer.status == 200
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("ended", ["disconnect", "too large"])
def test_uploads_in_flight_share_a_bounded_amount_of_memory(monkeypatch: pytest.MonkeyPatch, ended: str) -> None:
    monkeypatch.setattr(evaluations, "MAX_BODY_BYTES", 1000)
    monkeypatch.setattr(evaluations, "MAX_UPLOADED_BYTES", 2500)

    async def upload(parts: asyncio.Queue[dict[str, Any]]) -> object:
        try:
            return await evaluations.read_body(Request({"type": "http"}, parts.get))
        except HTTPException as error:
            return error.status_code

    async def run() -> list[object]:
        queues = [asyncio.Queue[dict[str, Any]]() for _ in range(40)]
        uploads = [asyncio.create_task(upload(queue)) for queue in queues]
        for queue in queues:
            queue.put_nowait({"type": "http.request", "body": b"x" * 900, "more_body": True})
            await asyncio.sleep(0)
        await asyncio.sleep(0.01)
        refused = [each.result() for each in uploads if each.done()]
        assert refused == [429] * 38
        for queue in queues[:2]:
            queue.put_nowait(
                {"type": "http.disconnect"}
                if ended == "disconnect"
                else {"type": "http.request", "body": b"x" * 101, "more_body": True}
            )
        last: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        last.put_nowait({"type": "http.request", "body": b"y" * 1000})
        return [*await asyncio.gather(*uploads[:2]), await upload(last)]

    status = 400 if ended == "disconnect" else 413
    assert asyncio.run(run()) == [status, status, b"y" * 1000]
    assert evaluations._uploaded_bytes == 0


# ---- description of the API -------------------------------------------------------------------------------------


def test_every_route_is_described(client: TestClient) -> None:
    document = client.get("/api/openapi.json").json()
    for path, methods in document["paths"].items():
        assert path.startswith("/api/")
        for operation in methods.values():
            assert operation["description"]
            assert operation["responses"]["200"]["content"]
            assert {"400", "404", "422"} <= set(operation["responses"])
    assert len(document["paths"]) == 14


def test_every_response_conforms_to_its_description(loaded_models: dict[str, LoadedModel]) -> None:
    schemathesis = pytest.importorskip("schemathesis")
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import strategies as st

    class Local(SecurityMiddleware):
        """Schemathesis sends requests under another host name."""

        def check_request(self, headers: dict[str, str], path: str) -> tuple[int, str] | None:
            return super().check_request({**headers, "host": "127.0.0.1"}, path)

    # Models do not know most random strings: known words replace them in a part of the cases.
    known = {"word": "cat", "first": "dog", "second": "cat", "a": "man", "b": "king", "c": "woman", "cluster": None}
    bodies = [QUESTIONS, PAIRS]
    asked = collections.Counter[Any]()

    def use_known_words(case: Any, choice: int) -> None:
        query = case.query if isinstance(case.query, dict) else {}
        if isinstance(query.get("model"), str):
            query["model"] = "constrained"
        if choice == 0:
            return
        for name, value in query.items():
            if isinstance(value, str) and name in known:
                query[name] = known[name]
            if isinstance(value, str) and name == "sentence":
                query[name] = f"{value[:1900].replace('[', '')} cats [MASK]"
        if isinstance(case.body, str):
            case.body = f"{bodies[choice % 2]}{case.body}"[: 1000 * choice]

    names = ("not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance")
    checks = [getattr(schemathesis.checks, name) for name in names]
    application = Local(make_application(loaded_models).application, "127.0.0.1")
    schema = schemathesis.openapi.from_asgi("/api/openapi.json", application)
    for result in schema.get_all_operations():
        operation = result.ok()
        quick = settings(
            max_examples=int(os.environ.get("POSVEC_API_CASES", "15")),
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )

        modes = [operation.as_strategy(each) for each in schemathesis.GenerationMode]

        @given(st.one_of(modes), st.integers(0, 2))
        @quick
        def attempt(case: Any, choice: int) -> None:
            use_known_words(case, choice)
            answer = case.call(timeout=600)
            answered = answer.status_code == 200 and not answer.text.startswith('{"error"')
            asked["answered" if answered else answer.status_code] += 1
            case.validate_response(answer, checks=checks)

        attempt()
    print(dict(asked))
    assert asked["answered"] > asked.total() / 4  # the cases are not mostly refusals


# ---- posvec explore ---------------------------------------------------------------------------------------------


def test_the_command_serves_until_interrupted(
    posvec_process: Callable[..., Any], explored: dict[str, Path], tmp_path: Path
) -> None:
    process = posvec_process("explore", *explored.values(), "--no-browser")
    said = process.stdout.readline().decode()
    assert said.startswith("Exploring constrained, subword at http://127.0.0.1:")
    with urllib.request.urlopen(said.split()[4] + "api/models", timeout=20) as answer:
        assert [each["name"] for each in json.load(answer)] == ["constrained", "subword"]
    process.send_signal(signal.SIGINT)
    _, complaints = process.communicate(timeout=20)
    assert process.returncode == 0
    assert complaints == b""


def test_an_interrupt_cancels_an_evaluation_with_an_error(
    posvec_process: Callable[..., Any], explored: dict[str, Path]
) -> None:
    process = posvec_process("explore", explored["constrained"], "--no-browser")
    where = process.stdout.readline().decode().split()[3]
    content = QUESTIONS.encode() * 10_000  # takes a while to read
    with urllib.request.urlopen(f"{where}api/evaluation?model=constrained&name=a", content, timeout=60) as answer:
        assert json.loads(answer.readline()) == {"progress": 0}
        process.send_signal(signal.SIGINT)
        assert "the explorer was stopped" in json.loads(answer.read().splitlines()[-1])["error"]
    _, complaints = process.communicate(timeout=60)
    assert (process.returncode, complaints) == (0, b"")


def test_the_warm_up_thread_ends_if_an_interrupt_comes_while_it_starts(
    loaded_models: dict[str, LoadedModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    start = threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        start(thread)
        raise KeyboardInterrupt

    class Slow(LoadedModel):
        def warm_up_steps(self) -> Iterator[Callable[[], object]]:
            yield lambda: time.sleep(0.5)
            yield lambda: warmed.append(self.name)

    warmed: list[str] = []
    slow = Slow("slow", loaded_models["subword"].model)
    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt), warming_up({"slow": slow}):
        pass
    assert "posvec-explorer-warm-up" not in [each.name for each in threading.enumerate()]
    assert warmed == []


def test_the_command_refuses_invalid_arguments(
    posvec_command: Callable[..., Any], explored: dict[str, Path], tmp_path: Path
) -> None:
    path = explored["subword"]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = posvec_command("explore", path, "--no-browser", "--port", taken.getsockname()[1])
    assert (ended.code, ended.out) == (1, "")
    assert "choose another --port or --host" in ended.err
    assert posvec_command("explore", tmp_path / "none", "--no-browser").code == 1
    assert "a model is given twice; give each once" in posvec_command("explore", path, path, "--no-browser").err
    assert (
        "cannot listen at no.such.host.invalid"
        in posvec_command("explore", path, "--no-browser", "--host", "no.such.host.invalid").err
    )


def test_the_command_warns_about_addresses_of_the_network(
    posvec_command: Callable[..., Any], explored: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    served = []
    monkeypatch.setattr("posvec.explorer.application.serve", lambda *given: served.append(given))
    local = posvec_command("explore", explored["subword"], "--no-browser", "--host", "localhost")
    open_to_all = posvec_command("explore", explored["subword"], "--no-browser", "--host", "0.0.0.0")
    assert local.err == ""
    assert "Warning: everyone who can reach 0.0.0.0" in open_to_all.err
    assert "http://127.0.0.1:" in open_to_all.out
    assert [given[2] for given in served] == ["localhost", "0.0.0.0"]


def test_without_its_packages_the_command_names_the_extra(
    posvec_command: Callable[..., Any], explored: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "uvicorn", None)
    ended = posvec_command("explore", explored["subword"], "--no-browser")
    assert ended.code == 1
    assert 'pip install "posvec[explorer]"' in ended.err


def test_page_urls_can_be_opened_on_this_machine() -> None:
    with listen("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        assert page_url(listening, "127.0.0.1") == f"http://127.0.0.1:{port}/"
        assert page_url(listening, "localhost") == f"http://localhost:{port}/"
    with listen("0.0.0.0", 0) as listening:
        assert page_url(listening, "0.0.0.0").startswith("http://127.0.0.1:")


@pytest.mark.parametrize("vectors_only", [False, True])
def test_compressed_models_are_shown_like_any_other(
    explored: dict[str, Path], tmp_path: Path, vectors_only: bool
) -> None:
    compress_model(explored["constrained"], tmp_path / "small", "int8", vectors_only=vectors_only)
    loaded_models = load_models({"small": tmp_path / "small"})
    for step in loaded_models["small"].warm_up_steps():
        step()
    client = TestClient(make_application(loaded_models), "http://127.0.0.1:8000")
    word = loaded_models["small"].model.vocabulary.words[0]
    details = client.get("/api/model", params={"model": "small"}).json()
    assert 0 < details["bytes"] < load_models(explored)["constrained"].model.input_vectors.nbytes
    assert client.get("/api/neighbors", params={"model": "small", "word": word}).status_code == 200
    answer = client.get("/api/masked", params={"model": "small", "sentence": f"{word} [MASK]"})
    assert answer.status_code == (400 if vectors_only else 200)
    assert not vectors_only or "word vectors alone" in answer.text
