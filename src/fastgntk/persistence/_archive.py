"""The container of model files: a zip of JSON and ``.npy`` arrays that can be read without being trusted.

A ``.fgntk`` file has these members and no others::

    <name>.npy     one array each, in the order of their names
    model.json     {"format": "fastgntk model", "format_version": 2, "package_version": ...,
                    "members": {"<name>.npy": {"sha256": ..., "dtype": "<f8", "shape": [3, 2]}, ...},
                    "document": {...}}
    checksum.txt   the SHA-256 of model.json, in the form that ``sha256sum --check`` reads

The checksum is a member rather than the comment of the zip, so that common tools can verify an unpacked file. It
detects damage but not forgery: a hand-made file can have a valid checksum, so every member is checked all the same.

Nothing is pickled, so reading executes no code from the file. All members are stored uncompressed: a member cannot be
larger than the file, which rules out a small file that expands to many gigabytes. Every size is compared with the size
of the file before memory is allocated, whereas NumPy's own reader allocates whatever the header of an array claims.

The same document and arrays give the same bytes on every system: times are fixed and names are sorted.
"""

import hashlib
import json
import math
import os
import re
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.files import atomic_save
from fastgntk._version import __version__
from fastgntk.errors import InputError

__all__ = ["FORMAT_VERSION", "prepend_path", "read_container", "write_container"]

FORMAT_VERSION = 2  # incremented when earlier versions cannot read new files

_FORMAT = "fastgntk model"
_MODEL, _CHECKSUM = "model.json", "checksum.txt"
# Whole file names only: no folder, no drive, no "..", nothing hidden.
_NAME = re.compile(r"[A-Za-z0-9_]+([.-][A-Za-z0-9_]+)*")
_MAX_NAME = 100  # characters
_MAX_MEMBERS = 1000
# A hundred thousand names of 300 characters; more is not sensible, as parsed JSON takes up to twenty times its size.
_MAX_DOCUMENT = 2**25
_MAX_MODEL = _MAX_DOCUMENT + 2**20  # the entries of all members with the longest names need less
_MAX_CHECKSUM = 1000
_MAX_DIRECTORY = 2**18  # bytes of the zip directory, for _MAX_MEMBERS with the longest names

# Fixed widths only: the width of a "long double" depends on the system.
_DTYPES = re.compile(r"\|b1|\|[iu]1|<[iu][248]|<f[248]|<U[1-9][0-9]{0,5}")
_MAX_DIMENSIONS = 32
_MAX_ARRAY = 2**62  # bytes, with axes of length 0 counted as 1: NumPy raises its own error for more
# Python and NumPy fail or disagree on booleans other than 0 and 1, and on code points past the last.
_MAX_CODES = {"b": ("|u1", 1), "U": ("<u4", 0x10FFFF)}

_MAGIC = b"\x93NUMPY\x01\x00"
_CHUNK = 2**20
_OLDEST = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip can store

_AGAIN = "copy or download it again, or save the model again"


def write_container(path: Path, document: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Write a document and named arrays as a model file; a crash, a full disk or Ctrl-C leaves the old file intact.

    The document consists of JSON types (dicts with string keys, lists, strings, finite numbers, booleans, None), so
    that it is read back unchanged, and has at most 32 MB as text. Arrays contain booleans, integers, floats or strings
    of fixed width. Arrays in C order are written without a copy, others are copied one at a time.
    """
    path = Path(path)
    _check_document(document)
    if len(arrays) > _MAX_MEMBERS:
        raise InputError(f"a model file holds at most {_MAX_MEMBERS} arrays, but {len(arrays)} were given; join some.")
    for name, array in arrays.items():
        _check_array(name, array)
    if path.is_dir():
        raise InputError(f"{path} is a folder; give the name of a file in it, such as model.fgntk.")
    try:
        atomic_save(path, lambda stream: _fill(stream, document, arrays))
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"{path} cannot be written ({reason}); choose another folder or free some space.") from error


def read_container(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read a model file and return its document and arrays, whose meaning is for the caller to check.

    Files need not be trusted: a damaged or hand-made file raises an :class:`InputError` of one sentence, and takes no
    more memory than a small multiple of its own size.
    """
    path = Path(path)
    with prepend_path(path):
        if not path.exists():
            raise _FileError("does not exist; check the name of the model file.")
        if not path.is_file():  # opening a pipe would block forever
            problem = "is a folder" if path.is_dir() else "is not a regular file"
            raise _FileError(f"{problem}; give the name of a model file, such as model.fgntk.")
        with path.open("rb") as stream:
            return _read(stream)


class _FileError(Exception):
    """A file that cannot be read; the message is a predicate of the path, which :func:`prepend_path` prepends."""


@contextmanager
def prepend_path(path: Path) -> Iterator[None]:
    """Raise errors about the file or its content as an ``InputError`` that begins with the path."""
    try:
        yield
    except _FileError as error:
        raise InputError(f"{path} {error}") from None
    except InputError as error:  # a sentence about the content
        raise InputError(f"{path} is not a usable model: {error}") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror or error}).") from error


# Writing


def _check_document(document: Any) -> None:
    try:
        text = _dump(document)
        same = isinstance(document, dict) and json.loads(text) == document
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"the document of a model must be plain JSON, but cannot be written: {error}.") from None
    if not same:
        raise InputError(
            "the document of a model must be a dict that JSON reads back unchanged; use lists instead of tuples, and "
            "strings as keys."
        )
    if len(text) > _MAX_DOCUMENT:
        size = f"{len(text)} bytes, more than {_MAX_DOCUMENT}"
        raise InputError(f"the document of a model takes {size}; put long lists into arrays.")


def _check_array(name: str, array: Any) -> None:
    if not isinstance(name, str) or len(name) > _MAX_NAME or not _NAME.fullmatch(name):
        raise InputError(
            f"the array name {_show(name)} must be letters, digits and _, with single dots or hyphens between, at "
            f"most {_MAX_NAME} characters."
        )
    if not isinstance(array, np.ndarray):
        raise InputError(f"the array {name} must be a NumPy array, but has type {type(array).__name__}.")
    if not _DTYPES.fullmatch(_stored_dtype(array).str) or array.ndim > _MAX_DIMENSIONS:
        raise InputError(
            f"the array {name} has dtype {_show(str(array.dtype))} and {array.ndim} dimensions, but a model file holds "
            f"booleans, integers, floats of up to 64 bits and strings, of at most {_MAX_DIMENSIONS} dimensions."
        )


def _fill(stream: BinaryIO, document: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    entries = {}
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(arrays):
            entries[f"{name}.npy"] = _write_array(archive, f"{name}.npy", arrays[name])
        versions = {"format": _FORMAT, "format_version": FORMAT_VERSION, "package_version": __version__}
        text = _dump(versions | {"members": entries, "document": document})
        archive.writestr(_zip_info(_MODEL), text)
        archive.writestr(_zip_info(_CHECKSUM), _checksum_line(text))


def _write_array(archive: zipfile.ZipFile, name: str, array: NDArray[Any]) -> dict[str, Any]:
    """Write one array, without a copy if it is in C order, and return its entry in model.json."""
    plain = np.asarray(array, dtype=_stored_dtype(array), order="C")
    info = _zip_info(name)
    header = _npy_header(plain.dtype.str, plain.shape)
    header += b" " * (-(len(_MAGIC) + 2 + len(header) + 1) % 64) + b"\n"  # padded as NumPy requires
    start = _MAGIC + len(header).to_bytes(2, "little") + header
    info.file_size = len(start) + plain.nbytes  # zipfile uses 64-bit sizes if this is large
    digest = hashlib.sha256(start)
    with archive.open(info, "w") as member:
        member.write(start)
        for chunk in _chunks(plain):
            digest.update(chunk)
            member.write(chunk)
    return {"sha256": digest.hexdigest(), "dtype": plain.dtype.str, "shape": list(plain.shape)}


def _zip_info(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _OLDEST)
    info.create_system = 3  # a constant, so that the bytes do not depend on the system
    info.external_attr = 0o100644 << 16
    return info


def _npy_header(dtype: str, shape: tuple[int, ...]) -> bytes:
    """Return the header of a ``.npy`` file, without the spaces at its end."""
    return f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape!r}, }}".encode("ascii")


def _stored_dtype(array: NDArray[Any]) -> np.dtype[Any]:
    if array.dtype.kind == "U" and array.dtype.itemsize == 0:
        return np.dtype("<U1")  # only empty strings; NumPy widens such dtypes wherever it can
    return array.dtype.newbyteorder("<")


def _dump(value: Any) -> bytes:
    return json.dumps(value, allow_nan=False, sort_keys=True).encode("ascii")


# Reading. Messages below omit the path; `prepend_path` prepends it.


def _read(stream: BinaryIO) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    size = stream.seek(0, os.SEEK_END)
    _check_ends(stream, size)
    with _zip_faults("its zip directory"):
        archive = zipfile.ZipFile(stream)
    with archive:
        members = archive.infolist()
        text, model = _read_model(archive, members, size)
        _check_members(members, size)
        by_name = {member.orig_filename: member for member in members}
        if _CHECKSUM not in by_name:
            raise _damaged(f"it lacks {_CHECKSUM}")
        if _read_small(archive, by_name.pop(_CHECKSUM), size, _MAX_CHECKSUM) != _checksum_line(text):
            raise _damaged(f"the checksum of {_MODEL} is wrong")
        del by_name[_MODEL]
        for field, kind in (("package_version", str), ("members", dict), ("document", dict)):
            if not isinstance(model.get(field), kind):
                raise _damaged(f"{_MODEL} has no usable {field}")
        entries = model["members"]
        for name in sorted(entries.keys() | by_name.keys()):
            if name not in by_name:
                raise _damaged(f"it lacks the member {_show(name)}")
            if name not in entries or not name.endswith(".npy"):
                raise _FileError(
                    f"holds the member {name}, which does not belong to a model; get the file from its source again."
                )
        # All entries are checked before the first array is read.
        expected = {name: _check_entry(name, entries[name]) for name in sorted(entries)}
        arrays = {name: _read_array(archive, by_name[name], *entry) for name, entry in expected.items()}
    return model["document"], {name.removesuffix(".npy"): array for name, array in arrays.items()}


def _check_ends(stream: BinaryIO, size: int) -> None:
    """Check both ends of the file before ``zipfile``, which reads a directory of any length, opens it."""
    stream.seek(0)
    start = stream.read(4)
    if not start:
        raise _FileError(f"is empty; {_AGAIN}.")
    if not b"PK\x03\x04".startswith(start):
        raise _FileError("is not a fastgntk model; give a file that was saved by fastgntk.")
    stream.seek(max(0, size - 98))
    tail = stream.read(98)
    end = tail[-22:]
    if not end.startswith(b"PK\x05\x06") or not end.endswith(b"\0\0"):
        raise _FileError(f"is cut short, or was changed after it was saved; {_AGAIN}.")
    directory = int.from_bytes(end[12:16], "little")
    if tail[-42:-38] == b"PK\x06\x07":  # the directory of a file over 4 GB has a second, longer end record
        if not tail.startswith(b"PK\x06\x06"):
            raise _damaged("its zip directory cannot be read")
        directory = max(directory, int.from_bytes(tail[40:48], "little"))
    if directory > min(_MAX_DIRECTORY, size):
        raise _FileError("is not a fastgntk model: its zip directory is larger than that of any model.")


def _read_model(archive: zipfile.ZipFile, members: list[zipfile.ZipInfo], size: int) -> tuple[bytes, dict[str, Any]]:
    """Read model.json and check the version first, because all other rules may differ in a newer format."""
    matches = [member for member in members if member.orig_filename == _MODEL]
    if not matches:
        raise _FileError(f"is a zip file but not a fastgntk model: it lacks {_MODEL}; give a file saved by fastgntk.")
    text = _read_small(archive, matches[0], size, _MAX_MODEL)
    try:
        model = json.loads(text.decode("utf-8"), parse_constant=_parse_finite, parse_float=_parse_finite)
    except RecursionError:
        raise _damaged(f"{_MODEL} is nested too deeply") from None
    except ValueError:
        raise _damaged(f"{_MODEL} cannot be read as JSON") from None
    if not isinstance(model, dict) or model.get("format") != _FORMAT:
        raise _FileError(f"is not a fastgntk model: {_MODEL} is of another kind; give a file saved by fastgntk.")
    version = model.get("format_version")
    if type(version) is not int or version < 1:
        raise _damaged(f"its format version is {_show(version)}")
    if version != FORMAT_VERSION:
        age, remedy = ("an older", "train it again") if version < FORMAT_VERSION else ("a newer", "update fastgntk")
        formats = f"format {_show(version)}, this version reads {FORMAT_VERSION}"
        raise _FileError(f"was written by {age} fastgntk ({formats}); {remedy}.")
    return text, model


def _check_members(members: list[zipfile.ZipInfo], size: int) -> None:
    seen: set[str] = set()
    for member in members:
        name = member.orig_filename  # the name in the file: `filename` is cut at a NUL, and modified on Windows
        if len(name) > _MAX_NAME + 4 or not _NAME.fullmatch(name):
            raise _FileError(f"holds a member with the name {_show(name)}, which no model has; do not use this file.")
        if name in seen:
            raise _FileError(f"holds the member {name} twice; do not use this file.")
        seen.add(name)
        _check_member(member, size)
    if sum(member.file_size for member in members) > size:
        raise _damaged("its members claim more bytes than it has")


def _check_member(member: zipfile.ZipInfo, size: int) -> None:
    name = _show(member.orig_filename)
    if member.flag_bits & 0x41:  # encrypted, or strongly so
        raise _FileError(f"holds the encrypted member {name}; save the model without encryption.")
    if member.compress_type != zipfile.ZIP_STORED:
        remedy = "but a model is stored uncompressed; use the file as fastgntk saved it"
        raise _FileError(f"holds the compressed member {name}, {remedy}.")
    if member.compress_size != member.file_size or member.file_size > size:
        raise _damaged(f"the member {name} claims {member.file_size} bytes, which do not fit")


def _check_entry(name: str, entry: Any) -> tuple[str, np.dtype[Any], tuple[int, ...]]:
    """Return checksum, dtype and shape of a member from its entry in model.json, if they are valid."""
    if not isinstance(entry, dict) or not isinstance(entry.get("sha256"), str):
        raise _damaged(f"{_MODEL} has no usable entry for the member {name}")
    dtype, shape = entry.get("dtype"), entry.get("shape")
    if not isinstance(dtype, str) or not _DTYPES.fullmatch(dtype):
        raise _FileError(f"holds the member {name} of dtype {_show(dtype)}, which no model has; do not use this file.")
    if (
        not isinstance(shape, list)
        or len(shape) > _MAX_DIMENSIONS
        or not all(type(length) is int and length >= 0 for length in shape)
        or math.prod(max(length, 1) for length in shape) * np.dtype(dtype).itemsize > _MAX_ARRAY
    ):
        raise _FileError(f"holds the member {name} of shape {_show(shape)}, which no array has; do not use this file.")
    return entry["sha256"], np.dtype(dtype), tuple(shape)


def _read_array(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, checksum: str, dtype: np.dtype[Any], shape: tuple[int, ...]
) -> NDArray[Any]:
    """Read an array into its own memory.

    The header needs no parser: its content follows from model.json, up to trailing spaces.
    """
    name, described = member.orig_filename, f"array of shape {_show(shape)} and dtype {dtype}"
    with _zip_faults(f"the member {name}"), archive.open(member) as source:
        start = source.read(len(_MAGIC) + 2)
        if len(start) < len(_MAGIC) + 2 or not start.startswith(_MAGIC):
            raise _damaged(f"the member {name} has no valid .npy header")
        length = int.from_bytes(start[-2:], "little")
        # Python integers, whose products cannot overflow.
        if len(start) + length + math.prod(shape) * dtype.itemsize != member.file_size:
            raise _damaged(f"the member {name} has {member.file_size} bytes, which is not the size of an {described}")
        header = source.read(length)
        if not header.endswith(b"\n") or header.rstrip(b" \n") != _npy_header(dtype.str, shape):
            raise _damaged(f"the member {name} is not the {described} that {_MODEL} names")
        digest = hashlib.sha256(start + header)
        array: NDArray[Any] = np.empty(shape, dtype)
        for chunk in _chunks(array):
            chunk[:] = source.read(len(chunk))
            digest.update(chunk)
    if digest.hexdigest() != checksum:
        raise _damaged(f"the checksum of the member {name} is wrong")
    code, largest = _MAX_CODES.get(dtype.kind, (None, 0))
    if code is not None and array.reshape(-1).view(code).max(initial=0) > largest:
        raise _FileError(f"holds the member {name} with values that dtype {dtype} does not have; do not use this file.")
    return array.astype(dtype.newbyteorder("="), copy=False)


def _read_small(archive: zipfile.ZipFile, member: zipfile.ZipInfo, size: int, max_size: int) -> bytes:
    _check_member(member, size)
    name = member.orig_filename
    if member.file_size > max_size:
        raise _FileError(f"is not a fastgntk model: {name} has {member.file_size} bytes, over the limit of {max_size}.")
    with _zip_faults(f"the member {name}"), archive.open(member) as source:
        return source.read()


@contextmanager
def _zip_faults(what: str) -> Iterator[None]:
    """Convert the errors that ``zipfile`` raises on damaged files, which differ between versions."""
    try:
        yield
    except (zipfile.BadZipFile, EOFError, RuntimeError, OverflowError, ValueError, struct.error):
        raise _damaged(f"{what} cannot be read") from None


def _damaged(what: str) -> _FileError:
    return _FileError(f"is damaged: {what}; {_AGAIN}.")


def _parse_finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is no finite number")
    return number


# Shared by reading and writing


def _chunks(array: NDArray[Any]) -> Iterator[memoryview]:
    """Yield the bytes of an array in C order, a megabyte at a time."""
    everything = array.reshape(-1).view(np.uint8).data
    for start in range(0, array.nbytes, _CHUNK):
        yield everything[start : start + _CHUNK]


def _checksum_line(text: bytes) -> bytes:
    return f"{hashlib.sha256(text).hexdigest()}  {_MODEL}\n".encode("ascii")


def _show(value: Any) -> str:
    """Format a value from the file for a message, shortened and without control characters."""
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
