"""Every block of the README and the docs runs and prints what the page says, and every file they point at exists.

A Python block runs after those before it on its page, in the same names and folder; a line of an ``sh`` block is a
command of ``fastgntk``. A ``text`` block right after one of them is what it prints: its lines are among those printed,
in order, with numbers that may differ by a few per cent, as they do between machines.
"""

from __future__ import annotations

import ast
import contextlib
import io
import logging
import re
import shlex
import sys
import warnings
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

import fastgntk

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#]+)")

SLOW = {"docs/evaluate.md", "docs/quickstart.md", "docs/estimators.md", "docs/theory.md"}
"""Pages that take more than some seconds, besides the tutorials."""

NEEDS = re.compile(r"^# needs (\w+)$", re.MULTILINE)  # the first line of a block that runs only where that is installed

NUMBER = re.compile(r"[+-]?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")
MACHINES_DIFFER = {"rel": 0.06, "abs": 0.02}
"""How far a number that a page shows may be from the one printed here: about one graph of forty."""


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def command(line: str) -> None:
    """Run a command of the package in this process, and undo what it does to logging and warnings."""
    arguments = shlex.split(line, comments=True)
    assert arguments[0] == "fastgntk", f"only commands of fastgntk are run, not {line!r}"
    from fastgntk.cli import main

    log = logging.getLogger("fastgntk")
    before = log.handlers[:], log.level, log.propagate, warnings.showwarning
    code = 0
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stderr(io.StringIO()) as errors:
        patch.setenv("COLUMNS", "120")
        patch.setattr(sys, "argv", arguments)
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        finally:
            log.handlers[:], log.level, log.propagate, warnings.showwarning = before
    assert code == 0, f"{line}: {errors.getvalue()}"


def same(shown: str, printed: str) -> bool:
    """Whether two lines have the same words, and numbers that are close."""
    shown, printed = (" ".join(re.sub(r"[│┃─━┌┐└┘├┤┬┴┼┏┓┗┛╇╈|]", " ", line).split()) for line in (shown, printed))
    if NUMBER.sub("0", shown) != NUMBER.sub("0", printed):
        return False
    pairs = zip(NUMBER.findall(shown), NUMBER.findall(printed), strict=True)
    return all(
        float(a.replace(",", "")) == pytest.approx(float(b.replace(",", "")), **MACHINES_DIFFER) for a, b in pairs
    )


def assert_shown(shown: str, printed: str, where: str) -> None:
    lines = iter(printed.splitlines())
    for line in shown.splitlines():
        if line.strip() not in ("", "…"):
            assert any(same(line, other) for other in lines), f"{where} shows {line!r}, but printed:\n{printed}"


def test_there_are_pages_and_blocks():
    assert len(PAGES) >= 25
    assert sum(len(BLOCK.findall(page.read_text())) for page in PAGES) >= 60


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.slow] if page in TUTORIALS or name_of(page) in SLOW else [])
        for page in PAGES
    ],
    ids=name_of,
)
def test_blocks_run_in_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "page"}
    blocks = BLOCK.findall(page.read_text())
    ran = 0
    for number, (language, block, shown) in enumerate(blocks, start=1):
        where = f"{name_of(page)}, block {number}"
        needed = NEEDS.findall(block)
        if any(find_spec(module) is None for module in needed):
            continue  # `test_blocks_that_need_what_is_not_installed` shows it as skipped
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # imports of other libraries may warn
            for module in needed:
                import_module(module)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            if language == "python":
                exec(compile(block, where, "exec"), names)
            else:
                for line in block.replace("\\\n", " ").splitlines():
                    command(line)
        ran += 1
        assert_shown(shown, printed.getvalue(), where)
    skipped = sum(bool(NEEDS.search(block)) for _, block, _ in blocks)
    assert len(blocks) - skipped <= ran <= len(blocks)


@pytest.mark.parametrize(
    ("page", "module"), [(page, module) for page in PAGES for module in NEEDS.findall(page.read_text())], ids=str
)
def test_blocks_that_need_what_is_not_installed(page, module):
    if find_spec(module) is None:
        pytest.skip(f"a block of {page.name} was not run, because {module} is not installed")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_point_to_files(page):
    for target in LINK.findall(page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} points at {target}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_fences_are_closed_and_known(page):
    fences = re.findall(r"^```(.*)$", page.read_text(), re.MULTILINE)
    assert all(fence == "" for fence in fences[1::2])
    assert set(fences[::2]) <= {"python", "sh", "text"}


@pytest.mark.parametrize("page", TUTORIALS, ids=name_of)
def test_tutorial_shows_output(page):
    blocks = BLOCK.findall(page.read_text())
    assert len(blocks) >= 4
    assert sum(bool(shown) for *_, shown in blocks) >= 2


ENTRY = re.compile(r"^::: fastgntk\.([\w.]+)\n    options:\n      heading: fastgntk\.([\w.]+)$", re.MULTILINE)
API = {page.stem: ENTRY.findall(page.read_text()) for page in sorted((ROOT / "docs" / "api").glob("*.md"))}


def test_every_public_name_has_an_entry_in_the_api_pages():
    headings = [heading for entries in API.values() for _, heading in entries]
    assert len(headings) == len(set(headings))
    modules = {name for name in dir(fastgntk) if isinstance(getattr(fastgntk, name), ModuleType)}
    assert {name for name in headings if "." not in name} | modules | {"__version__"} == set(dir(fastgntk))
    assert set(API) == modules | {"index"}


@pytest.mark.parametrize("module", sorted(set(API) - {"index"}))
def test_api_page_describes_public_names_of_its_module(module):
    """An entry is found where the page says; its heading is the shortest path by which users import it."""
    assert API[module]
    for path, heading in API[module]:
        home, _, name = path.rpartition(".")
        where = import_module(f"fastgntk.{home}")
        found = getattr(where, name)
        assert name in where.__all__, f"{path} is not public"
        assert found.__doc__, f"{path} has no docstring"
        assert heading == (name if name in dir(fastgntk) else path)
        assert home.partition(".")[0] == module or heading == name, f"{path} belongs on another page"


def test_api_index_links_every_module():
    index = (ROOT / "docs" / "api" / "index.md").read_text()
    linked = re.findall(r"^\| \[`(\w+)`\]\((\w+)\.md\)", index, re.MULTILINE)
    assert {name for name, page in linked if name == page} == set(API) - {"index"}
    names = {
        name
        for row in re.findall(r"^\| \[`\w+`\][^|]*\|([^|]*)\|", index, re.MULTILINE)
        for name in re.findall(r"`(\w+)`", row)
    }
    assert names == set(dir(fastgntk)) - (set(API) - {"index"}) - {"__version__"}


def test_architecture_names_folders_and_files_that_exist():
    text = (ROOT / "docs" / "architecture.md").read_text()
    package = ROOT / "src" / "fastgntk"
    tree = text.partition("src/fastgntk/\n")[2].partition("    tests/")[0]
    folders = set(re.findall(r"^ {6}(\w+)/ ", tree, re.MULTILINE))
    assert folders == {path.parent.name for path in package.glob("*/__init__.py")}
    named = set(re.findall(r"[\w/]+\.py\b", text))
    assert len(named) >= 30
    for name in named:
        places = (
            [ROOT / name, package / name]
            if "/" in name
            else [*package.rglob(name), ROOT / "tools" / name, ROOT / "docs" / "pictures" / name]
        )
        assert any(place.is_file() for place in places), f"docs/architecture.md names {name}"


def test_every_page_is_in_the_navigation():
    nav = (ROOT / "mkdocs.yml").read_text().split("\nnav:\n")[1]
    linked = set(re.findall(r"([\w/-]+\.md)$", nav, re.MULTILINE))
    there = {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")}
    assert linked == there | {"changelog.md", "contributing.md", "examples.md"}


def messages_of_the_source() -> list[str]:
    """Return every text of the source, with … for what is filled in."""
    found = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.JoinedStr):
                found.append(
                    "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
                )
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    return found


def test_troubleshooting_quotes_messages_that_exist():
    quoted = re.findall(r"^> (.+)$", (ROOT / "docs" / "troubleshooting.md").read_text(), re.MULTILINE)
    assert len(quoted) >= 30
    source = messages_of_the_source()
    for message in quoted:
        # Signs around what is filled in are left to the reader, who sees a whole sentence.
        pieces = [piece.strip(" ;,.:()") for piece in message.split("…")]
        pattern = re.compile(".*".join(re.escape(piece) for piece in pieces if piece), re.DOTALL)
        assert any(pattern.search(text) for text in source), f"no message of the package is: {message}"


@pytest.mark.parametrize(
    ("shown", "printed", "expected"),
    [
        ("accuracy 87.7 %", "│ accuracy │ 88.2 % │", True),
        ("accuracy 87.7 %", "│ accuracy │ 77.7 % │", False),
        ("1,200 nodes", "1,201 nodes", True),
        ("a 1", "b 1", False),
    ],
)
def test_lines_are_compared_by_words_and_numbers(shown, printed, expected):
    assert same(shown, printed) is expected
