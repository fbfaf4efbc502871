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

import pytest

import fastgntk
from fastgntk.cli import main

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#]+)")

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
    log = logging.getLogger("fastgntk")
    before = log.handlers[:], log.level, log.propagate, warnings.showwarning
    code = 0
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stderr(io.StringIO()) as told:
        patch.setenv("COLUMNS", "120")
        patch.setattr(sys, "argv", arguments)
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        finally:
            log.handlers[:], log.level, log.propagate, warnings.showwarning = before
    assert code == 0, f"{line}: {told.getvalue()}"


def same(shown: str, printed: str) -> bool:
    """Whether a line says the same, numbers being close."""
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


@pytest.mark.parametrize("page", PAGES, ids=name_of)
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
            warnings.simplefilter("ignore")  # what they say while they are imported is theirs
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
def test_links_lead_somewhere(page):
    for target in LINK.findall(page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} points at {target}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_fences_are_closed_and_known(page):
    fences = re.findall(r"^```(.*)$", page.read_text(), re.MULTILINE)
    assert all(fence == "" for fence in fences[1::2])
    assert set(fences[::2]) <= {"python", "sh", "text"}


@pytest.mark.parametrize("page", TUTORIALS, ids=name_of)
def test_a_tutorial_shows_what_comes_out(page):
    blocks = BLOCK.findall(page.read_text())
    assert len(blocks) >= 4
    assert sum(bool(shown) for *_, shown in blocks) >= 2


def test_every_public_name_is_in_the_api_pages():
    text = "".join(page.read_text() for page in sorted((ROOT / "docs" / "api").glob("*.md")))
    described = set(re.findall(r"heading: fastgntk\.(\w+)$", text, re.MULTILINE))
    modules = {"datasets": 8, "learn": 8, "theory": 8, "report": 3}
    assert described | set(modules) | {"__version__"} == set(fastgntk.__all__)
    for module, least in modules.items():
        inside = set(re.findall(rf"^::: fastgntk\.{module}\.(\w+)$", text, re.MULTILINE))
        assert inside <= set(getattr(fastgntk, module).__all__) | {"synthetic"}
        assert len(inside) >= least


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
