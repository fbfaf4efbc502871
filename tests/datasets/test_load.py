from __future__ import annotations

import http.server
import logging
import shutil
import threading
import zipfile
from pathlib import Path

import numpy as np
import pytest

from fastgntk import DownloadError, InputError, datasets
from fastgntk.datasets import REGISTRY, _load, find, load

BUNDLED = Path(datasets.__file__).parent / "bundled" / "MUTAG"


@pytest.fixture
def mutag_zip(tmp_path) -> Path:
    path = tmp_path / "site" / "MUTAG.zip"
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(BUNDLED.iterdir()):
            archive.write(file, f"MUTAG/{file.name}")
    return path


def cached(pattern: str) -> list[Path]:
    return sorted(p for p in datasets.cache_folder().rglob(pattern) if p.is_file())


def test_bundled_mutag_works_offline_without_cache():
    data = load("MUTAG")
    assert data.counts == REGISTRY["MUTAG"].counts
    assert find("MUTAG")[0] == "bundled"
    assert set(data.y.tolist()) == {1, -1}
    assert data.graphs.edge_labels is not None
    assert not cached("*")


def test_an_empty_folder_does_not_hide_a_known_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "MUTAG").mkdir()
    assert find("MUTAG")[0] == "bundled"


def test_dataset_accepts_lists():
    data = datasets.Dataset([np.eye(2), np.eye(3)], [0, 1], "mine")
    assert (len(data), data.counts.classes) == (2, 2)


def test_a_path_comes_first_then_the_data_folder(tmp_path, mutag_zip, monkeypatch):
    assert find(str(mutag_zip)) == ("path", mutag_zip)
    assert load(mutag_zip).counts == REGISTRY["MUTAG"].counts
    monkeypatch.setenv("FASTGNTK_DATA", str(mutag_zip.parent))
    assert find("MUTAG") == ("data folder", mutag_zip)
    monkeypatch.setenv("FASTGNTK_DATA", str(BUNDLED.parent))
    assert find("MUTAG") == ("data folder", BUNDLED)
    assert load("MUTAG").counts == REGISTRY["MUTAG"].counts


def test_parsed_copy_is_used_and_equal(mutag_zip, monkeypatch):
    first = load(mutag_zip)
    assert len(cached("*.npz")) == 1
    monkeypatch.setattr(_load, "read_tu", lambda path: pytest.fail("parsed again"))
    second = load(mutag_zip)
    for name in ("offsets", "indptr", "indices", "labels", "edge_labels", "self_loops"):
        assert np.array_equal(getattr(first.graphs, name), getattr(second.graphs, name))
    assert (first.name, first.y.tolist()) == (second.name, second.y.tolist())
    assert second.graph_attributes is None


def test_parsed_copy_is_keyed_by_content(tmp_path):
    folder = tmp_path / "MUTAG"
    shutil.copytree(BUNDLED, folder)
    before = load(folder)
    labels = folder / "MUTAG_graph_labels.txt"
    labels.write_text("7\n" + labels.read_text().split("\n", 1)[1])
    assert before.y[0] != load(folder).y[0] == 7
    assert len(cached("*.npz")) == 2


def test_parsed_copy_keeps_the_name(tmp_path):
    folder = tmp_path / "set"
    shutil.copytree(BUNDLED, folder)
    load(folder)
    for file in list(folder.iterdir()):
        file.rename(folder / file.name.replace("MUTAG", "OTHER"))
    assert load(folder).name == "OTHER"


def test_a_damaged_copy_is_parsed_again(mutag_zip, caplog):
    load(mutag_zip)
    (copy,) = cached("*.npz")
    copy.write_bytes(copy.read_bytes()[: copy.stat().st_size // 2])
    with caplog.at_level(logging.WARNING, logger="fastgntk"):
        assert load(mutag_zip).counts == REGISTRY["MUTAG"].counts
    assert "cannot be read" in caplog.text
    assert load(mutag_zip).counts == REGISTRY["MUTAG"].counts


def test_unknown_name_suggests_the_nearest():
    with pytest.raises(InputError, match=r"'IMDB-BINRY'; did you mean IMDB-BINARY\? Known names: IMDB-BINARY,"):
        load("IMDB-BINRY")
    with pytest.raises(InputError, match=r"'mutag'; did you mean MUTAG\?"):
        load("mutag")
    with pytest.raises(InputError, match="there is no data set, file or folder 'no/such/folder'"):
        load("no/such/folder")


def test_data_set_without_address_raises_hint():
    with pytest.raises(InputError, match=r"PTC has no public address; put PTC\.zip .* set FASTGNTK_DATA"):
        load("PTC")


def test_wrong_counts_are_rejected(tmp_path, mutag_zip, monkeypatch):
    shutil.copy(mutag_zip, mutag_zip.with_name("ENZYMES.zip"))
    monkeypatch.setenv("FASTGNTK_DATA", str(mutag_zip.parent))
    with pytest.raises(InputError, match="has 188 graphs, but ENZYMES has 600; the file does not match its name"):
        load("ENZYMES")


class Site(http.server.BaseHTTPRequestHandler):
    """A site on this machine that can break in several ways."""

    content = b""
    fail_first = 0
    cut_at: int | None = None
    requests = 0

    def do_GET(self):
        cls = type(self)
        cls.requests += 1
        if cls.requests <= cls.fail_first:
            self.send_error(503)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(cls.content)))
        self.end_headers()
        self.wfile.write(cls.content[: cls.cut_at])

    def log_message(self, *args):
        pass


@pytest.fixture
def site(monkeypatch, mutag_zip):
    handler = type("Handler", (Site,), {"content": mutag_zip.read_bytes()})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    monkeypatch.setattr(_load, "_TU_SITE", f"http://127.0.0.1:{server.server_port}/sets/")
    monkeypatch.setattr(_load, "_BUNDLED", Path("nowhere"))
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # pooch waits between tries
    yield handler
    server.shutdown()
    server.server_close()
    thread.join()


def test_download_once_with_progress_then_from_the_cache(site):
    calls = []
    assert find("MUTAG")[0] == "download"
    assert load("MUTAG", progress=lambda done, total: calls.append((done, total))).counts == REGISTRY["MUTAG"].counts
    assert calls[-1][0] == calls[-1][1] == len(site.content)
    assert find("MUTAG")[0] == "cache"
    assert load("MUTAG").counts == REGISTRY["MUTAG"].counts
    assert site.requests == 1


def test_download_is_retried(site):
    site.fail_first = 2
    assert load("MUTAG").counts == REGISTRY["MUTAG"].counts
    assert site.requests == 3


def test_interrupted_download_leaves_no_file(site):
    site.cut_at = len(site.content) // 2
    with pytest.raises(
        DownloadError,
        match=r"could not be downloaded from http.*no connection, or the connection was lost.*set FASTGNTK_DATA",
    ):
        load("MUTAG")
    assert site.requests == 4
    assert not cached("*")


def test_wrong_download_is_removed(site):
    site.content = b"<html>not found</html>"
    with pytest.raises(DownloadError, match=r"is not MUTAG: .* neither a folder nor a zip file"):
        load("MUTAG")
    assert not cached("*.zip")


def test_missing_connection_raises_download_error(monkeypatch):
    monkeypatch.setattr(_load, "_TU_SITE", "http://127.0.0.1:9/sets/")
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    with pytest.raises(DownloadError, match="NCI109 is not on this machine and could not be downloaded") as caught:
        load("NCI109")
    assert "\n" not in str(caught.value)
    assert not cached("*")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["PTC", "PTC_MR", "NCI1", "PROTEINS", "IMDB-BINARY", "IMDB-MULTI", "MUTAG", "COLLAB"])
def test_data_sets_of_the_papers_have_the_registered_counts(name, shared_data):
    data = load(name)
    assert data.counts == REGISTRY[name].counts
    assert (data.graphs.labels is not None) == REGISTRY[name].node_labels
