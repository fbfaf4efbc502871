"""Every Python block of the README and the docs runs, and every file they point at exists."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#]+)")


NEEDS = re.compile(r"^# needs (\w+)$", re.MULTILINE)  # the first line of a block that runs only where that is installed


def test_there_are_pages_and_blocks():
    assert len(PAGES) >= 4
    assert sum(len(BLOCK.findall(page.read_text())) for page in PAGES) >= 3


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_python_blocks_run_in_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    blocks = BLOCK.findall(page.read_text())
    for number, block in enumerate(blocks, start=1):
        if any(find_spec(module) is None for module in NEEDS.findall(block)):
            continue  # `test_blocks_that_need_what_is_not_installed` shows it as skipped
        exec(compile(block, f"{page.name}, block {number}", "exec"), names)
    assert bool(blocks) == ("__builtins__" in names)  # every block that there is was run


@pytest.mark.parametrize(
    ("page", "module"), [(page, module) for page in PAGES for module in NEEDS.findall(page.read_text())], ids=str
)
def test_blocks_that_need_what_is_not_installed(page, module):
    if find_spec(module) is None:
        pytest.skip(f"a block of {page.name} was not run, because {module} is not installed")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page):
    for target in LINK.findall(page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} points at {target}"
