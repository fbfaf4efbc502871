from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import random
import re
import shutil
import stat
import struct
import subprocess
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

from fastgntk import InputError, __version__
from fastgntk.persistence import _archive
from fastgntk.persistence._archive import FORMAT_VERSION, read_container, write_container

DOCUMENT = {"kernel": {"blocks": 2, "jump": True}, "names": ["C₆H₆", "a\nb", ""], "ridge": 1e-3, "none": None}
ARRAYS = {
    "graphs.offsets": np.array([0, 3, 5], dtype=np.int64),
    "weights": np.array([[0.5, -1.0], [2.0, 1e300]]),
    "classes": np.array(["aromatic", "é", "\U0010ffff"]),
}
FEW_MB = 3 * 2**20


def equal(a, b) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def same_content(read, document=DOCUMENT, arrays=ARRAYS) -> bool:
    return (
        read[0] == document
        and read[1].keys() == arrays.keys()
        and all(equal(read[1][name], arrays[name]) for name in arrays)
    )


def npy(array) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=False)
    return stream.getvalue()


def describe(content: bytes, dtype="<i8", shape=(3,)) -> dict:
    return {"sha256": hashlib.sha256(content).hexdigest(), "dtype": dtype, "shape": list(shape)}


def model(entries=None, **changes) -> dict:
    whole = {
        "format": "fastgntk model",
        "format_version": FORMAT_VERSION,
        "package_version": "1",
        "members": entries or {},
    }
    return {**whole, "document": {}, **changes}


def seal(path: Path, text, members=(), checksum=None, **options) -> Path:
    """Write a file with valid checksums around any content."""
    text = text if isinstance(text, bytes) else json.dumps(text).encode()
    line = hashlib.sha256(text).hexdigest() + "  model.json\n" if checksum is None else checksum
    with zipfile.ZipFile(path, "w", **options) as archive:
        for name, content in [*members, ("model.json", text), ("checksum.txt", line)]:
            archive.writestr(name, content)
    return path


def refused(path: Path, words: str) -> None:
    """Check that reading fails with this message about the file, and takes little memory."""
    tracemalloc.start()
    try:
        with pytest.raises(InputError) as caught:
            read_container(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    message = str(caught.value)
    assert re.search(words, message), message
    assert message.startswith(f"{path} ")
    assert message.endswith(".")
    assert "\n" not in message
    assert peak < FEW_MB


@pytest.fixture
def saved(tmp_path):
    write_container(tmp_path / "model.fgntk", DOCUMENT, ARRAYS)
    return tmp_path / "model.fgntk"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "made.fgntk"


# Round trips


def test_document_and_arrays_round_trip(saved):
    assert same_content(read_container(saved))


@pytest.mark.parametrize(
    "array",
    [
        np.array([True, False]),
        *(np.array([[1, 2], [100, 0]], dtype=d) for d in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")),
        np.array([np.iinfo(np.int64).min, np.iinfo(np.int64).max]),
        *(np.array([1.5, -0.0, np.inf, np.nan], dtype=d) for d in ("f2", "f4", "f8")),
        np.array(3.25),
        np.array("one"),
        np.zeros((0, 7)),
        np.zeros((3, 0, 2), dtype=np.int32),
        np.zeros(0, dtype="U5"),
        np.array(["", "a\0b", "\ud800"]),
        np.zeros((1,) * 32),
    ],
    ids=lambda a: f"{a.dtype.str}-{a.shape}"[:30],
)
def test_every_dtype_and_shape_round_trips(path, array):
    write_container(path, {}, {"a": array})
    assert same_content(read_container(path), {}, {"a": array})
    with zipfile.ZipFile(path) as archive:
        assert equal(np.load(io.BytesIO(archive.read("a.npy")), allow_pickle=False), array)


def test_other_memory_layouts_are_read_in_c_order(path):
    plain = np.arange(24.0).reshape(2, 3, 4)
    layouts = {"f": np.asfortranarray(plain), "big": plain.astype(">f8"), "cut": np.repeat(plain, 2, axis=1)[:, ::2]}
    write_container(path, {}, layouts)
    assert same_content(read_container(path), {}, dict.fromkeys(layouts, plain))
    assert read_container(path)[1]["f"].flags.c_contiguous


def test_strings_of_width_0_round_trip(path):
    nothing = np.ndarray((2,), dtype="<U0", buffer=b"")
    assert nothing.dtype.itemsize == 0
    write_container(path, {}, {"a": nothing})
    assert read_container(path)[1]["a"].tolist() == ["", ""]


def test_arrays_longer_than_a_chunk_round_trip(path, monkeypatch):
    monkeypatch.setattr(_archive, "_CHUNK", 1000)
    arrays = {"a": np.random.default_rng(0).random(1001), "b": np.arange(1000, dtype=np.uint8)}
    write_container(path, {}, arrays)
    assert same_content(read_container(path), {}, arrays)


def test_read_array_is_writable(saved):
    array = read_container(saved)[1]["weights"]
    array[0, 0] = 7.0
    assert array[0, 0] == 7.0


def test_members_written_by_numpy_are_read(path):
    """Other programs may write the same members; NumPy pads headers in another way."""
    array = np.arange(3)
    seal(path, model({"a.npy": describe(npy(array))}), [("a.npy", npy(array))])
    assert same_content(read_container(path), {}, {"a": array})


def test_same_content_gives_the_same_bytes(tmp_path, monkeypatch):
    write_container(tmp_path / "a", {"x": 1, "y": 2}, {"b": np.arange(3), "a": np.arange(2)})
    monkeypatch.setattr("time.time", lambda: 2e9)
    monkeypatch.setattr("sys.platform", "win32")
    write_container(tmp_path / "b", {"y": 2, "x": 1}, {"a": np.arange(2), "b": np.arange(3)})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    read = read_container(tmp_path / "a")
    write_container(tmp_path / "c", *read)
    assert (tmp_path / "c").read_bytes() == (tmp_path / "a").read_bytes()


def test_layout_of_the_file(saved):
    with zipfile.ZipFile(saved) as archive:
        assert archive.testzip() is None
        assert {m.compress_type for m in archive.infolist()} == {zipfile.ZIP_STORED}
        names = [f"{name}.npy" for name in sorted(ARRAYS)]
        assert archive.namelist() == [*names, "model.json", "checksum.txt"]
        whole = json.loads(archive.read("model.json"))
        assert (whole["format"], whole["format_version"]) == ("fastgntk model", FORMAT_VERSION)
        assert whole["package_version"] == __version__
        assert whole["document"] == DOCUMENT
        for name in names:
            array = ARRAYS[name.removesuffix(".npy")]
            assert whole["members"][name] == describe(archive.read(name), array.dtype.str, array.shape)


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="sha256sum is not installed")
def test_sha256sum_can_check_a_model(saved, tmp_path):
    with zipfile.ZipFile(saved) as archive:
        archive.extractall(tmp_path / "out")
    subprocess.run(["sha256sum", "--check", "checksum.txt"], cwd=tmp_path / "out", check=True, capture_output=True)


def test_writing_and_reading_copy_nothing_large(path):
    arrays = {"a": np.zeros(10 * 2**17), "b": np.zeros(10 * 2**17)}  # 10 MB each
    tracemalloc.start()
    try:
        write_container(path, {}, arrays)
        assert tracemalloc.get_traced_memory()[1] < 5 * 2**20
        tracemalloc.reset_peak()
        back = read_container(path)
        assert tracemalloc.get_traced_memory()[1] < 25 * 2**20
    finally:
        tracemalloc.stop()
    assert same_content(back, {}, arrays)


def test_members_and_files_over_four_gigabytes_have_64_bit_sizes(saved, path, monkeypatch):
    """With the limit of 32 bits moved down; zipfile reads what it wrote the same way."""
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 100)
    write_container(path, DOCUMENT, ARRAYS)
    assert b"PK\x06\x06" in path.read_bytes()[-98:]
    assert same_content(read_container(path))
    content = bytearray(path.read_bytes())
    content[-58:-50] = (2**40).to_bytes(8, "little")  # the length of the directory in the longer end record
    path.write_bytes(content)
    refused(path, "its zip directory is larger than that of any model")
    content[-98:-94] = b"PK\x06\x05"
    path.write_bytes(content)
    refused(path, "is damaged: its zip directory cannot be read")


def test_offset_beyond_the_file_is_refused(path, monkeypatch):
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 100)
    write_container(path, DOCUMENT, ARRAYS)
    content = bytearray(path.read_bytes())
    extra = content.rindex(b"model.json") + len("model.json")
    assert struct.unpack_from("<HH", content, extra) == (1, 24)  # two sizes and a place of 64 bits
    for place in (2**63, 2**64 - 1, 2**40):
        struct.pack_into("<Q", content, extra + 4 + 16, place)
        path.write_bytes(content)
        refused(path, r"is damaged: the member model\.json cannot be read")


# Errors of writing


class Stop(BaseException):
    """In place of Ctrl-C."""


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), Stop(), MemoryError()])
@pytest.mark.parametrize("at", [1, 3, 8])
def test_failed_save_keeps_the_old_file(saved, monkeypatch, error, at):
    before = saved.read_bytes()
    calls = []
    original = zipfile._ZipWriteFile.write

    def fail(self, data):
        calls.append(1)
        if len(calls) >= at:
            raise error
        return original(self, data)

    monkeypatch.setattr(zipfile._ZipWriteFile, "write", fail)
    expected = InputError if isinstance(error, OSError) else type(error)
    with pytest.raises(expected):
        write_container(saved, {"new": 1}, {**ARRAYS, "more": np.zeros(5)})
    assert len(calls) == at
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_full_disk_is_reported(path, monkeypatch):
    def full(path, write):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_archive, "atomic_save", full)
    with pytest.raises(InputError, match=r"cannot be written \(No space left on device\); choose another folder or"):
        write_container(path, {}, {})


def test_folder_and_missing_folder_are_refused(tmp_path):
    with pytest.raises(InputError, match="is a folder; give the name of a file in it"):
        write_container(tmp_path, {}, {})
    with pytest.raises(InputError, match=r"cannot be written \(No such file or directory\)"):
        write_container(tmp_path / "none" / "model.fgntk", {}, {})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.array([{}], dtype=object), "dtype 'object'"),
        (np.array([b"a"]), "dtype '|S1'"),
        (np.array([1j]), "dtype 'complex128'"),
        (np.zeros(2, dtype=[("a", "i4")]), r"dtype \"\[\('a'"),
        (np.zeros(2, dtype="M8[s]"), "dtype 'datetime64"),
        (np.zeros(2, dtype=np.longdouble), "dtype 'float128'"),
        (np.zeros(2, dtype="V3"), "has dtype"),
        (np.zeros((1,) * 33), "33 dimensions"),
        (np.zeros(0, dtype="<U1000000"), "dtype '<U1000000'"),
        ([1, 2], "must be a NumPy array, but has type list"),
    ],
)
def test_unsupported_arrays_are_not_written(path, array, words):
    if getattr(array, "dtype", None) == np.float64 and "float128" in words:
        pytest.skip("a long double is a double on this system")
    with pytest.raises(InputError, match=f"the array a .*{words}"):
        write_container(path, {}, {"a": array})
    assert not path.exists()


@pytest.mark.parametrize("name", ["", "a/b", "..", "a..b", "../a", "/a", "a\\b", "C:a", ".a", "a b", "é", "a" * 101, 3])
def test_invalid_array_names_are_not_written(path, name):
    with pytest.raises(InputError, match="the array name"):
        write_container(path, {}, {name: np.zeros(1)})


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ([1], "must be a dict that JSON reads back unchanged"),
        ({"a": (1, 2)}, "use lists instead of tuples"),
        ({1: 2}, "strings as keys"),
        ({"a": float("nan")}, "plain JSON"),
        ({"a": float("inf")}, "plain JSON"),
        ({"a": np.int64(3)}, "plain JSON"),
        ({"a": np.zeros(2)}, "plain JSON"),
        ({"a": 1, 2: 3}, "plain JSON"),
    ],
)
def test_documents_that_json_cannot_represent_are_not_written(path, document, words):
    with pytest.raises(InputError, match=words):
        write_container(path, document, {})
    assert not path.exists()


@pytest.mark.slow
def test_limits_hold_on_writing(path, monkeypatch):
    deep = {}
    for _ in range(100_000):
        deep = {"a": deep}
    with pytest.raises(InputError, match="plain JSON"):
        write_container(path, deep, {})
    while deep:  # taken apart by hand: freeing it at once would recurse as deeply
        deep = deep["a"]
    with pytest.raises(InputError, match="at most 1000 arrays, but 1001 were given"):
        write_container(path, {}, {f"a{i}": np.zeros(0) for i in range(1001)})
    monkeypatch.setattr(_archive, "_MAX_DOCUMENT", 100)
    with pytest.raises(InputError, match="takes 110 bytes, more than 100; put long lists into arrays"):
        write_container(path, {"a": "x" * 101}, {})
    write_container(path, {"a": "x" * 91}, {})
    assert same_content(read_container(path), {"a": "x" * 91}, {})


def test_file_at_all_limits_can_be_read(path, monkeypatch):
    """The limits of directory and model.json must leave room for the most members with the longest names."""
    arrays = {f"{i:04}" + "n" * 96: np.zeros((1,) * 31 + (0,), dtype="<U99") for i in range(1000)}
    monkeypatch.setattr(_archive, "_MAX_DOCUMENT", 9)
    monkeypatch.setattr(_archive, "_MAX_MODEL", 9 + 2**20)
    write_container(path, {"a": 10}, arrays)
    assert len(read_container(path)[1]) == 1000


# Errors of reading


def test_path_that_is_no_file_is_refused(tmp_path):
    refused(tmp_path / "none.fgntk", "does not exist")
    refused(tmp_path, "is a folder")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
        refused(tmp_path / "pipe", "is not a regular file")


def test_unreadable_file_is_reported(saved, monkeypatch):
    def denied(self, mode):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", denied)
    with pytest.raises(InputError, match=r"cannot be read \(Permission denied\)\."):
        read_container(saved)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"hello, this is text that goes on for more than twenty-two bytes", "is not a fastgntk model"),
        (b"PK\x03\x04", "is cut short"),
        (b"PK\x05\x06" + bytes(18), "is not a fastgntk model"),
        (b"\x80\x04\x95", "is not a fastgntk model"),
    ],
)
def test_other_files_are_refused(path, content, words):
    path.write_bytes(content)
    refused(path, words)


def test_other_zip_files_are_refused(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", "<xml/>")
    refused(path, "is a zip file but not a fastgntk model: it lacks model.json")
    with zipfile.ZipFile(path, "w") as archive:
        for i in range(10_000):
            archive.writestr(f"{i}", "")
    refused(path, "its zip directory is larger than that of any model")


@pytest.mark.slow
def test_every_truncation_is_refused(saved, path):
    content = saved.read_bytes()
    for length in range(len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(InputError, match=r"is empty|is cut short"):
            read_container(path)


def test_trailing_bytes_are_refused(saved):
    content = saved.read_bytes()
    for changed in (content + b"x", content[:-2] + b"\1\0", content[:-2] + b"\1\0x"):
        saved.write_bytes(changed)
        refused(saved, "is cut short, or was changed after it was saved")


@pytest.mark.parametrize("name", ["weights.npy", "model.json", "checksum.txt"])
def test_damage_names_the_member(saved, name):
    with zipfile.ZipFile(saved) as archive:
        member = archive.getinfo(name)
        last = member.header_offset + 30 + len(name) + member.file_size - 2
    content = bytearray(saved.read_bytes())
    content[last] ^= 1
    saved.write_bytes(content)
    refused(saved, f"is damaged: the member {name} cannot be read; copy or download it again")


def test_wrong_checksums_name_the_member(path):
    content = npy(np.arange(3))
    wrong = {**describe(content), "sha256": "0" * 64}
    seal(path, model({"a.npy": wrong}), [("a.npy", content)])
    refused(path, r"is damaged: the checksum of the member a\.npy is wrong")
    seal(path, model(), checksum="0" * 64 + "  model.json\n")
    refused(path, r"is damaged: the checksum of model\.json is wrong")


@pytest.mark.parametrize("version", [FORMAT_VERSION + 1, 10**9, 10**4000], ids=["next", "10**9", "10**4000"])
def test_newer_format_is_refused_with_advice_to_update(path, version):
    """Also with unknown entries and members."""
    text = {"format": "fastgntk model", "format_version": version, "new": []}
    seal(path, text, [("folder/new.bin", b"x" * 100)], checksum="new")
    shown = str(version) if version < 10**10 else r"10+\.\.\."
    refused(path, rf"newer fastgntk \(format {shown}, this version reads {FORMAT_VERSION}\); update fastgntk")


@pytest.mark.parametrize("version", range(1, FORMAT_VERSION))
def test_older_format_is_refused_with_advice_to_train_again(path, version):
    seal(path, model(format_version=version))
    refused(path, rf"older fastgntk \(format {version}, this version reads {FORMAT_VERSION}\); train it again")


@pytest.mark.parametrize(
    "name", ["/a.npy", "../a.npy", "a/b.npy", "a\\b.npy", "C:a.npy", "..", ".a.npy", "a\x1b.npy", "é.npy", "a" * 200]
)
def test_members_with_other_names_are_refused(path, name):
    content = npy(np.arange(3))
    seal(path, model({name: describe(content)}), [(name, content)])
    refused(path, "holds a member with the name '.*, which no model has; do not use this file")


def test_name_with_a_nul_is_refused(path):
    content = npy(np.arange(3))
    seal(path, model({"a.npy": describe(content)}), [("a.npyXb", content)])
    path.write_bytes(path.read_bytes().replace(b"a.npyXb", b"a.npy\0b"))
    refused(path, r"holds a member with the name 'a\.npy\\x00b', which no model has")


@pytest.mark.parametrize("name", ["a.npy", "model.json", "checksum.txt"])
def test_duplicate_members_are_refused(path, name):
    content = npy(np.arange(3))
    text = json.dumps(model({"a.npy": describe(content)}))
    extra = {"a.npy": content, "model.json": text, "checksum.txt": ""}[name]
    with pytest.warns(UserWarning, match="Duplicate name"):
        seal(path, text.encode(), [(name, extra), ("a.npy", content)])
    refused(path, f"holds the member {re.escape(name)} twice")


@pytest.mark.parametrize("name", ["b.npy", "readme.txt"])
def test_members_missing_from_model_json_are_refused(path, name):
    seal(path, model(), [(name, npy(np.arange(3)))])
    refused(path, f"holds the member {re.escape(name)}, which does not belong to a model")


def test_members_that_are_no_arrays_are_refused(path):
    content = npy(np.arange(3))
    seal(path, model({"a.txt": describe(content)}), [("a.txt", content)])
    refused(path, r"holds the member a\.txt, which does not belong to a model")


def test_missing_members_are_refused(path):
    seal(path, model({"a.npy": describe(b"")}))
    refused(path, r"is damaged: it lacks the member 'a\.npy'")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.json", json.dumps(model()))
    refused(path, r"is damaged: it lacks checksum\.txt")


@pytest.mark.slow
@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_compression_bomb_is_refused(path, compression):
    """Megabytes of zeros in a few kilobytes, with right checksums."""
    content = npy(np.zeros(2**22, dtype=np.uint8))
    entry = describe(content, "|u1", (2**22,))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.npy", content, compress_type=compression)
        text = json.dumps(model({"a.npy": entry}))
        archive.writestr("model.json", text)
        archive.writestr("checksum.txt", hashlib.sha256(text.encode()).hexdigest() + "  model.json\n")
    assert path.stat().st_size < 20_000
    refused(path, r"holds the compressed member 'a\.npy', but a model is stored uncompressed")
    seal(path, model(document={"a": "x" * 10**7}), compression=compression)
    refused(path, r"holds the compressed member 'model\.json'")


def patch_directory(path: Path, name: str, field: int, form: str, value: int) -> None:
    """Change one field of a member's entry in the zip directory."""
    content = bytearray(path.read_bytes())
    place = content.rindex(name.encode()) - 46
    assert content[place : place + 4] == b"PK\x01\x02"
    struct.pack_into(form, content, place + field, value)
    path.write_bytes(content)


@pytest.mark.parametrize("name", ["weights.npy", "model.json", "checksum.txt"])
def test_encrypted_members_are_refused(saved, name):
    patch_directory(saved, name, 8, "<H", 1)
    refused(saved, f"holds the encrypted member '{re.escape(name)}'")


@pytest.mark.parametrize("name", ["weights.npy", "model.json", "checksum.txt"])
def test_false_size_in_the_directory_is_refused(saved, name):
    patch_directory(saved, name, 24, "<I", 2**31)
    refused(saved, f"the member '{re.escape(name)}' claims 2147483648 bytes, which do not fit")
    patch_directory(saved, name, 20, "<I", 2**31)
    refused(saved, f"the member '{re.escape(name)}' claims 2147483648 bytes, which do not fit")
    for field in (20, 24):
        patch_directory(saved, name, field, "<I", saved.stat().st_size - 10)
    refused(saved, "claim more bytes than it has|cannot be read")


def test_overlapping_members_cannot_exceed_the_file(path):
    """Each fits by itself; together they are ten times the file."""
    content = npy(np.zeros(50_000))
    names = [f"a{i}.npy" for i in range(10)]
    entries = dict.fromkeys(names, describe(content, "<f8", (50_000,)))
    members = [(name, content if name == "a0.npy" else b"") for name in names]
    seal(path, model(entries), members)
    for name in names[1:]:
        for field in (20, 24):
            patch_directory(path, name, field, "<I", len(content))
    refused(path, "its members claim more bytes than it has")


def header(text: str, version=b"\x01\x00") -> bytes:
    body = text.encode("latin1") + b"\n"
    return b"\x93NUMPY" + version + struct.pack("<H", len(body)) + body


PLAIN = "{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }"
DATA = np.arange(3).tobytes()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "has no valid .npy header"),
        (b"\x93NUMPY\x01", "has no valid .npy header"),
        (b"\x80\x04\x95 a pickle", "has no valid .npy header"),
        (header(PLAIN, b"\x02\x00") + DATA, "has no valid .npy header"),
        (header(PLAIN) + DATA[:-1], "which is not the size of an array"),
        (header(PLAIN) + DATA + b"x", "which is not the size of an array"),
        (b"\x93NUMPY\x01\x00\xff\xff" + DATA, "which is not the size of an array"),
        (header(PLAIN.replace("<i8", "|O")) + DATA, "is not the array"),
        (header(PLAIN.replace("<i8", "<f8")) + DATA, "is not the array"),
        (header(PLAIN.replace("<i8", ">i8")) + DATA, "is not the array"),
        (header(PLAIN.replace("'<i8'", "[('a', '<i8')]")) + DATA, "is not the array"),
        (header(PLAIN.replace("(3,)", "(1000000000000,)")) + DATA, "is not the array"),
        (header(PLAIN.replace("(3,)", "(-3,)")) + DATA, "is not the array"),
        (header(PLAIN.replace("(3,)", "(1, 3)")) + DATA, "is not the array"),
        (header(PLAIN.replace("(3,)", "(3L,)")) + DATA, "is not the array"),
        (header(PLAIN.replace("False", "True")) + DATA, "is not the array"),
        (header("(" * 5000) + DATA, "is not the array"),
        (header("") + DATA, "is not the array"),
        (header(PLAIN)[:-1] + b" " + DATA, "is not the array"),
    ],
)
def test_invalid_headers_are_refused(path, content, words):
    """With valid checksums; model.json describes three 64-bit integers."""
    seal(path, model({"a.npy": describe(content)}), [("a.npy", content)])
    refused(path, rf"is damaged: the member a\.npy .*{words}")
    good = header(PLAIN) + DATA
    seal(path, model({"a.npy": describe(good)}), [("a.npy", good)])
    assert read_container(path)[1]["a"].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ([10**12], "is not the size of an array"),
        ([2**61], "no array has"),
        ([2**31, 2**31, 4], "no array has"),  # × 8 bytes is 2^67, and 0 in 64 bits
        ([2**64 + 3], "no array has"),
        ([0, 10**30], "no array has"),
        ([10**12, 0], "is not the size of an array"),
        ([-3], "no array has"),
        ([-1, -3], "no array has"),
        ([3.0], "no array has"),
        ([True, 3], "no array has"),
        (["3"], "no array has"),
        ([[3]], "no array has"),
        ([1] * 33 + [3], "no array has"),
        (3, "no array has"),
        ("3", "no array has"),
        (None, "no array has"),
        ({}, "no array has"),
    ],
)
def test_invalid_shapes_are_refused(path, shape, words):
    """The same shape in model.json and in the header, with valid checksums: only the size is wrong."""
    described = tuple(shape) if isinstance(shape, list) else (3,)
    content = header(PLAIN.replace("(3,)", repr(described))) + DATA
    seal(path, model({"a.npy": {**describe(content), "shape": shape}}), [("a.npy", content)])
    refused(path, rf"the member a\.npy .*{words}")


@pytest.mark.parametrize(
    "dtype",
    ["|O", "O", "|V8", "<c16", "<M8[s]", "|S3", "<f16", ">i8", "=i8", "i8", "<U0", "<U-1", "<U9999999", "<U", "<i8 ",
     "<i8\n", "<U3\n", "int64", "", [["a", "<i8"]], None, 8, {}],
)  # fmt: skip
def test_unsupported_dtypes_are_refused(path, dtype):
    content = header(PLAIN.replace("<i8", str(dtype))) + DATA
    seal(path, model({"a.npy": {**describe(content), "dtype": dtype}}), [("a.npy", content)])
    refused(path, r"holds the member a\.npy of dtype .*, which no model has")


@pytest.mark.parametrize(
    ("dtype", "data", "good"),
    [("|b1", b"\x02", b"\x01"), ("|b1", b"\xff", b"\x00"), ("<U1", b"\x00\x00\x11\x00", b"\xff\xff\x10\x00")],
)
def test_values_outside_of_a_dtype_are_refused(path, dtype, data, good):
    """A boolean that is neither 0 nor 1, and a character past the last, make trouble far from here."""
    for content, words in ((data, f"values that dtype {re.escape(str(np.dtype(dtype)))} does not have"), (good, "")):
        whole = header(f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': (1,), }}") + content
        seal(path, model({"a.npy": describe(whole, dtype, (1,))}), [("a.npy", whole)])
        if words:
            refused(path, words)
        else:
            assert read_container(path)[1]["a"].tobytes() == content


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "cannot be read as JSON"),
        (b"\xff\xfe", "cannot be read as JSON"),
        (b"{", "cannot be read as JSON"),
        (b"{} {}", "cannot be read as JSON"),
        (json.dumps(model()).encode("utf-16"), "cannot be read as JSON"),
        (b'{"a": NaN}', "cannot be read as JSON"),
        (b'{"a": -Infinity}', "cannot be read as JSON"),
        (b'{"a": 1e999}', "cannot be read as JSON"),
        (b'{"a": ' + b"9" * 5000 + b"}", "cannot be read as JSON"),
        (b"[" * 100_000, "is nested too deeply"),
        (b'{"a":' * 100_000, "is nested too deeply"),
        (b"[]", "is not a fastgntk model"),
        (b"null", "is not a fastgntk model"),
        (b"{}", "is not a fastgntk model"),
        (model(format="other model"), "is not a fastgntk model"),
        (model(format=["fastgntk model"]), "is not a fastgntk model"),
        *((model(format_version=v), "its format version is") for v in (0, -1, 1.0, True, "1", None, [1])),
        *((model(package_version=v), "has no usable package_version") for v in (1, None)),
        *(({**model(), "members": v}, "has no usable members") for v in ([], None, "a")),
        *((model(document=v), "has no usable document") for v in ([], None, "a")),
    ],
)
def test_invalid_model_json_is_refused(path, text, words):
    seal(path, text)
    refused(path, words)


@pytest.mark.parametrize("entry", [None, [], "a", {}, {"sha256": 3}, {"sha256": None, "dtype": "<i8", "shape": [3]}])
def test_invalid_entries_are_refused(path, entry):
    seal(path, model({"a.npy": entry}), [("a.npy", npy(np.arange(3)))])
    refused(path, r"model\.json has no usable entry for the member a\.npy")


def test_model_json_over_the_limit_is_refused(path):
    seal(path, b" " * (2**25 + 2**20 + 1))
    refused(path, r"model\.json has 34603009 bytes, over the limit of 34603008")
    seal(path, model(), checksum="0" * 1001)
    refused(path, r"checksum\.txt has 1001 bytes, over the limit of 1000")


# Fuzz: same content or InputError, nothing else, and little memory


@contextlib.contextmanager
def little_memory():
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < FEW_MB
    finally:
        tracemalloc.stop()


def outcome(path: Path, content: bytes) -> bool:
    """Read mutated content; return whether it was refused."""
    path.write_bytes(content)
    try:
        read = read_container(path)
    except InputError:
        return True
    assert same_content(read)
    return False


@pytest.mark.slow
def test_every_changed_byte_is_refused_or_harmless(saved, path):
    content = saved.read_bytes()
    refusals = 0
    with little_memory():
        for i in range(len(content)):
            for change in (0x01, 0xFF):
                mutated = bytearray(content)
                mutated[i] ^= change
                refusals += outcome(path, bytes(mutated))
    assert refusals > len(content)  # the rest is times, attributes and other unused fields


@pytest.mark.slow
def test_random_changes_are_refused_or_harmless(saved, path):
    content = saved.read_bytes()
    rng = random.Random(5)
    with zipfile.ZipFile(saved) as archive:
        directory = archive.start_dir
    with little_memory():
        for _ in range(1500):
            mutated = bytearray(content)
            for _ in range(rng.choice((1, 2, 3, 8))):
                low = directory if rng.random() < 0.5 else 0  # the directory has the sizes and offsets
                i = rng.randrange(low, len(mutated))
                kind = rng.randrange(4)
                if kind == 0:
                    mutated[i] = rng.randrange(256)
                elif kind == 1:
                    mutated[i : i + rng.choice((2, 4, 8))] = b"\xff" * rng.choice((2, 4, 8))
                elif kind == 2:
                    del mutated[i : i + rng.randrange(1, 30)]
                else:
                    j = rng.randrange(len(mutated))
                    mutated[i:i] = mutated[j : j + rng.randrange(1, 60)]
                if len(mutated) <= directory:
                    break
            outcome(path, bytes(mutated))


@pytest.mark.slow
def test_changes_with_valid_checksums_are_refused_or_harmless(saved, path):
    """With checksums of the changed content; the content may then differ, and nothing else happens."""
    rng = random.Random(7)
    with zipfile.ZipFile(saved) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    del contents["checksum.txt"]
    text = contents.pop("model.json")
    read = refusals = 0
    with little_memory():
        for _ in range(1000):
            members = {name: bytearray(content) for name, content in contents.items()}
            part = rng.choice(list(members))
            for _ in range(rng.choice((0, 1, 2))):
                members[part][rng.randrange(min(len(members[part]), 150))] = rng.choice(
                    b"0129-(,)[]{}'\n \xff\x00<U|Ob"
                )
            whole = json.loads(text)
            for name, content in members.items():
                whole["members"][name]["sha256"] = hashlib.sha256(content).hexdigest()
            changed = bytearray(json.dumps(whole).encode())
            for _ in range(rng.choice((0, 1, 2))):
                changed[rng.randrange(len(changed))] = rng.choice(b'0129-.,[]{}":etN <U|Ob\\')
            seal(path, bytes(changed), [(name, bytes(content)) for name, content in members.items()])
            try:
                document, arrays = read_container(path)
            except InputError:
                refusals += 1
            else:
                read += 1
                assert isinstance(document, dict)
                assert all(array.dtype.kind in "biufU" for array in arrays.values())
                assert sum(array.nbytes for array in arrays.values()) < path.stat().st_size
                for array in arrays.values():
                    array.tolist()  # every string can be decoded
    assert read > 50
    assert refusals > 250
