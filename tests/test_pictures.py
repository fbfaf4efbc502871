"""The pictures of the docs are those that their scripts make.

The same versions of matplotlib and RDKit give the same bytes. Others may draw letters otherwise, so what is compared
past that is what a reader sees: the texts, the elements, and where things are.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.tables import Tolerance

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "pictures"
SCRIPTS = sorted(path for path in FOLDER.glob("*.py") if not path.name.startswith("_"))
SVG = "{http://www.w3.org/2000/svg}"
PLACES = Tolerance(relative=0.02, absolute=4.0)  # in points: less than the width of a letter
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


def texts(picture: Path) -> Counter[str]:
    """Return what is written in it: matplotlib notes outlines of letters in comments, RDKit and frames write text."""
    root = ElementTree.parse(
        picture, ElementTree.XMLParser(target=ElementTree.TreeBuilder(insert_comments=True))
    ).getroot()
    written = [e.text.strip() for e in root.iter() if e.tag is ElementTree.Comment or e.tag == f"{SVG}text" if e.text]
    return Counter(written)


def drawn(picture: Path) -> list[tuple[str, list[float]]]:
    """Return the shapes that are no letters, with the numbers that say where they are."""
    root = ElementTree.parse(picture).getroot()
    letters = {id(e) for group in root.iter(f"{SVG}g") if "text_" in group.get("id", "") for e in group.iter()}
    letters |= {id(e) for defs in root.iter(f"{SVG}defs") for e in defs.iter()}
    found = []
    for e in root.iter():
        if id(e) not in letters and e.tag.removeprefix(SVG) in ("path", "use", "circle", "ellipse", "rect", "line"):
            where = " ".join(e.get(name, "") for name in ("d", "x", "y", "cx", "cy", "width", "height"))
            found.append((e.tag.removeprefix(SVG), [float(n) for n in NUMBER.findall(where)]))
    return found


def looks_like(one: Path, two: Path) -> bool:
    shapes, others = drawn(one), drawn(two)
    return (
        texts(one) == texts(two)
        and [kind for kind, _ in shapes] == [kind for kind, _ in others]
        and all(
            here == pytest.approx(there, rel=PLACES.relative, abs=PLACES.absolute)
            for (_, here), (_, there) in zip(shapes, others, strict=True)
        )
    )


def test_every_picture_has_a_script_and_is_small():
    assert {path.stem for path in SCRIPTS} == {path.stem for path in FOLDER.glob("*.svg")}
    assert len(SCRIPTS) >= 5
    for path in FOLDER.glob("*.svg"):
        assert path.stat().st_size < 100_000


def test_every_picture_is_shown_somewhere():
    pages = "".join(page.read_text() for page in FOLDER.parent.rglob("*.md"))
    for path in FOLDER.glob("*.svg"):
        assert f"pictures/{path.name})" in pages


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_the_script_makes_the_picture(script, tmp_path):
    command = [sys.executable, "-W", "error", script, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ}, check=False)
    assert done.returncode == 0, done.stderr
    made, kept = tmp_path / f"{script.stem}.svg", script.with_suffix(".svg")
    assert made.read_bytes() == kept.read_bytes() or looks_like(made, kept)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_pictures_have_shapes_and_words(script):
    """What the comparison rests on: a picture in which it would find nothing to compare is not compared."""
    picture = script.with_suffix(".svg")
    assert len(texts(picture)) >= 4
    assert len(drawn(picture)) >= 5


@pytest.mark.parametrize(("old", "new"), [("K(G, H)", "K(G, J)"), ("14.66", "14.67"), (None, None)])
def test_other_pictures_are_noticed(old, new, tmp_path):
    kept = FOLDER / "how_it_works.svg"
    text = kept.read_text()
    assert looks_like(kept, kept)
    if old is None:  # one of the shapes is elsewhere
        moved = re.search(r'<g id="patch_5">\s*<path d="M (\d+)', text)
        text = text[: moved.start(1)] + str(int(moved[1]) + 60) + text[moved.end(1) :]
    else:
        assert old in text
        text = text.replace(old, new, 1)
    changed = tmp_path / "changed.svg"
    changed.write_text(text)
    assert not looks_like(changed, kept)
