"""Hooks of MkDocs: pages from files outside docs/, and docstrings as Markdown.

The changelog, the contributing guide and the example programs are where people look for them in a repository. The site shows
them as pages, and links to them are redirected to these pages, so that one link works in both.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from posixpath import dirname, relpath
from typing import Any

import griffe
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.utils import get_relative_url

ROOT = Path(__file__).resolve().parents[1]

# Where a link from a page of docs/ leads in the site, by the path that it has in the repository.
PAGES = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md", "examples": "examples.md"}
SHIM, OWN_SHIM = "https://unpkg.com/iframe-worker/shim", "search-from-files.js"
FETCHED = re.compile(r"<(script|img|iframe|link)\b[^>]*?(?:src|href)=[\"']?((?:https?:)?//[^\"'\s>]+)")
NAMED_BY_FILE = re.compile(r"\[[\w/-]+\.md\]\(([\w./-]+\.md)(#[\w-]+)?\)")
LINK = re.compile(r"(?<=\]\()([^)#:\s]+)(?=[)#])")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made of files outside docs/."""
    for source, page in PAGES.items():
        text = examples_page() if source == "examples" else (ROOT / source).read_text()
        files.append(File.generated(config, page, content=moved(text, source, page)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Turn links to files outside docs/ to the pages that show them."""
    here = page.file.src_uri
    if here not in PAGES.values():
        markdown = moved(markdown, f"docs/{here}", here)
    return NAMED_BY_FILE.sub(lambda link: f"[{title_of(link[1], here)}]({link[1]}{link[2] or ''})", markdown)


def title_of(link: str, here: str) -> str:
    """Return the heading of the page that a link leads to; in the repository its file name says more.

    >>> title_of("../math.md", "tutorials/cluster.md")
    'The mathematics'
    """
    target = ROOT / "docs" / dirname(here) / link
    return target.read_text().partition("\n")[0].removeprefix("# ") if target.is_file() else link


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Take the help that search needs on pages opened as files from here, and refuse whatever else comes from elsewhere."""
    return from_here(output, get_relative_url(OWN_SHIM, page.url), page.file.src_uri)


def on_post_template(output_content: str, template_name: str, **_: Any) -> str:
    """Do the same for 404.html, which has no source."""
    return from_here(output_content, f"/{OWN_SHIM}", template_name)


def from_here(output: str, shim: str, name: str) -> str:
    """Refuse a page that fetches anything from another place.

    >>> from_here('<script src="https://example.org/a.js">', "", "index.md")
    Traceback (most recent call last):
    mkdocs.exceptions.PluginError: index.md would fetch https://example.org/a.js; the site has to work without a network.
    """
    output = output.replace(SHIM, shim)
    if elsewhere := FETCHED.search(output):
        raise PluginError(f"{name} would fetch {elsewhere[2]}; the site has to work without a network.")
    return output


def moved(text: str, source: str, page: str) -> str:
    """Rewrite the links of a file of the repository for the page that it becomes.

    >>> moved("[log](../CHANGELOG.md#added) [maths](math.md)", "docs/theory.md", "theory.md")
    '[log](changelog.md#added) [maths](math.md)'
    >>> moved("see [there](docs/architecture.md)", "CONTRIBUTING.md", "contributing.md")
    'see [there](architecture.md)'
    """

    def to_page(link: re.Match[str]) -> str:
        target = relpath(f"{dirname(source)}/{link[1]}" if dirname(source) else link[1])
        shown = target.removeprefix("docs/") if target.startswith("docs/") else PAGES.get(target)
        if target.startswith("examples/"):
            shown = "examples.md"
        return link[1] if shown is None else relpath(shown, dirname(page) or ".")

    return LINK.sub(to_page, text)


def examples_page() -> str:
    """Show all programs and notebooks of examples/ on one page."""
    parts = [
        "# Example programs",
        "Whole programs of a few lines, in the folder `examples`. The tests run all of them.",
    ]
    for path in sorted((ROOT / "examples").glob("*.py")):
        parts += [f"## {path.name}", f"```python\n{path.read_text().rstrip()}\n```"]
    for path in sorted((ROOT / "examples").glob("*.ipynb")):
        parts.append(f"## {path.name}")
        for cell in json.loads(path.read_text())["cells"]:
            text = "".join(cell["source"])
            lower = re.sub(r"^#+ ", "### ", text, flags=re.MULTILINE)
            parts.append(f"```python\n{text}\n```" if cell["cell_type"] == "code" else lower)
    return "\n\n".join(parts) + "\n"


class PlainRoles(griffe.Extension):
    """Docstrings are written for `help()` and Sphinx alike; here their roles, tables and ``::`` become Markdown."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite one docstring."""
        if obj.docstring:
            obj.docstring.value = as_markdown(obj.docstring.value)


# `a, b : type` and its lines: parameters that are described together. MkDocs would give both the default of the first.
GROUP = re.compile(r"^(\w+(?:, \w+)+)( : .*)?\n((?:    .*\n|\n(?=    ))+)", re.MULTILINE)


def as_markdown(text: str) -> str:
    r"""Turn what is Sphinx in a docstring into Markdown.

    >>> as_markdown("See :func:`~fastgntk.gram`, as in::")
    'See `gram`, as in:'
    >>> print(as_markdown("====  ====\n``a``  one\n====  ===="))
    | | |
    |---|---|
    | ``a`` | one |
    >>> print(as_markdown("low, high : float\n    Both ends.\n"))
    low : float
        Both ends.
    high : float
        Both ends.
    <BLANKLINE>
    >>> as_markdown("Add.\n\n>>> 1 + 1\n2").splitlines()[2:]
    ['```pycon', '>>> 1 + 1', '2', '```']
    """
    text = GROUP.sub(_one_by_one, text)
    before, title, after = text.partition(
        "\nExamples\n"
    )  # where mkdocstrings expects sessions; elsewhere they need a fence
    text = re.sub(
        r"^>>> (?:.+\n?)+", lambda session: f"```pycon\n{session[0].rstrip()}\n```\n", before, flags=re.MULTILINE
    )
    text += title + after
    text = re.sub(r":(?:func|class|meth|mod|attr|data):`~?(?:\w+\.)*(\w+)`", r"`\1`", text)
    text = re.sub(r"::$", ":", text, flags=re.MULTILINE)
    return re.sub(r"^=+  =+\n(.*?)^=+  =+$", _table, text, flags=re.MULTILINE | re.DOTALL)


def _one_by_one(group: re.Match[str]) -> str:
    return "".join(f"{name}{group[2] or ''}\n{group[3]}" for name in group[1].split(", "))


def _table(found: re.Match[str]) -> str:
    rows = [re.split(r" {2,}", line.strip(), maxsplit=1) for line in found[1].splitlines()]
    return "\n".join(["| | |", "|---|---|", *(f"| {' | '.join(row)} |" for row in rows)])
