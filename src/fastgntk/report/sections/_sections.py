"""The parts of the page that are there without JavaScript: words, numbers, tables, and boxes for charts.

Charts that are tables of numbers with colour (who was taken for whom, scores by options, bars) are HTML tables. For the
others there is an empty box with ``data-chart``, which JavaScript fills, and the numbers in a table behind it.
"""

from __future__ import annotations

from dataclasses import dataclass

from fastgntk.report._schema import Facts
from fastgntk.report.sections._markup import bar_table, behind, count, fixed, number, prose, say, table, time_text
from fastgntk.report.sections._quality import calibration, heat_map, predictions, surface

__all__ = ["Section", "sections", "warnings"]


@dataclass(frozen=True)
class Section:
    """One part of the page."""

    key: str
    """Its anchor."""
    title: str
    lead: str
    """What is seen, in words, as HTML."""
    body: str
    """As HTML."""
    wide: bool = False
    """Whether the body stands under the words, not beside them."""

    def html(self) -> str:
        """Return the section as HTML."""
        kind = ' class="wide"' if self.wide else ""
        return (
            f'<section id="{self.key}" aria-labelledby="{self.key}-title"{kind}>\n'
            f'<div class="lead"><h2 id="{self.key}-title">{say(self.title)}</h2>\n{self.lead}</div>\n'
            f'<div class="body">\n{self.body}\n</div>\n</section>\n'
        )


def sections(facts: Facts) -> list[Section]:
    """Return all sections for which there is something to show, in order."""
    found = [Section("score", "Score", *_score(facts))]
    if part := predictions(facts):
        found.append(Section("predictions", "Predictions", *part))
    if part := calibration(facts):
        found.append(Section("calibration", "Calibration", *part))
    if part := surface(facts):
        found.append(Section("options", "Options", *part))
    if part := heat_map(facts):
        found.append(Section("kernel", "Kernel", *part))
    if facts["graphs"] and facts["maps"]:
        found.append(Section("map", "Map", *_map(facts), wide=True))
    if part := _saved(facts):
        found.append(Section("saved", "Work saved", *part))
    if part := _stages(facts):
        found.append(Section("time", "Time", *part))
    if facts["run"] or facts["command"]:
        found.append(Section("run", "What was run", *_run(facts)))
    return found


def warnings(facts: Facts) -> str:
    """Return what a reader has to know before the score, or nothing."""
    if not facts["warnings"]:
        return ""
    items = "".join(f"<li>{prose(warning)}</li>" for warning in facts["warnings"])
    title = '<h2 id="warnings-title">Please note</h2>'
    return f'<section class="warnings" aria-labelledby="warnings-title">{title}<ul>{items}</ul></section>'


def _score(facts: Facts) -> tuple[str, str]:
    score = facts["score"]

    def shown(value: float) -> str:
        return fixed(value, 1) if score["unit"] == "%" else number(value)

    def shown_spread(spread: float, mean: float) -> str:
        """With as many decimals as the mean."""
        _, _, decimals = shown(mean).partition(".")
        return number(spread, 2) if "e" in decimals else fixed(spread, len(decimals))

    size = "unit long" if len(score["unit"]) > 3 else "unit"
    unit = f'<span class="{size}"> {say(score["unit"])}</span>' if score["unit"] else ""
    spread = ""
    if "std" in score:
        spread = f'<span class="spread"> ± {shown_spread(score["std"], score["mean"])}</span>'
    folds = len(score["folds"])
    of_folds = f", mean of {folds} folds" if folds > 1 else ""
    better = "Lower is better." if score["lower_is_better"] else "Higher is better."
    big = (
        f'<p class="score"><strong>{shown(score["mean"])}{unit}</strong>{spread}</p>\n'
        f"<p>{say(score['name'].capitalize())}{of_folds}. {better}</p>\n"
        f'<p class="fine">{prose(score["protocol"])}</p>'
    )
    rows = [("This run", shown(score["mean"]), shown_spread(score["std"], score["mean"]) if "std" in score else "", "")]
    rows += [(f"Fold {i}", shown(value), "", "") for i, value in enumerate(score["folds"], start=1)]
    for other in score["beside"]:
        std = shown_spread(other["std"], other["mean"]) if "std" in other else ""
        rows.append((say(other["name"]), shown(other["mean"]), std, say(other.get("note", ""))))
    title = f"{score['name']}, {score['unit']}" if score["unit"] else score["name"]
    numbers = table(title, ("Of what", "Mean", "Standard deviation", "How it was made"), rows, words=(0, 3))
    return big, f'<div class="chart" data-chart="score"></div>\n{behind("Numbers of this chart", numbers)}'


def _map(facts: Facts) -> tuple[str, str]:
    colour = "class" if facts["kind"] == "classification" else "measured value"
    wrong = (
        "was taken for another class" if facts["kind"] == "classification" else "lies outside the predicted interval"
    )
    lead = (
        f"<p>Each point is a graph, coloured by its {colour}; a ring means that it {wrong}. "
        '<span class="on-screen">Point at one to see it; click to pin it beside the map. With the keyboard: arrows '
        "move, Enter pins, Escape unpins.</span></p>"
    )
    names = "".join(f"<li>{say(each['name'])}: {say(each['note'])}</li>" for each in facts["maps"])
    body = (
        # Replaced as soon as the map is drawn.
        f'<div data-chart="map"><p>The map needs JavaScript. It would show:</p><ul>{names}</ul></div>'
    )
    return lead, body


def _saved(facts: Facts) -> tuple[str, str] | None:
    lead, body = "", ""
    if "compression" in facts:
        merged = facts["compression"]
        lead += (
            f"<p>Nodes that no network of that depth can tell apart are computed once: nothing is lost. Of "
            f"{count(merged['nodes'])} nodes these many were different at each level.</p>"
        )
        rows = [("All nodes", float(merged["nodes"]), count(merged["nodes"]))]
        for level, distinct in enumerate(merged["distinct"]):
            share = (
                f'<span class="fine"> {number(100 * distinct / merged["nodes"], 2)} %</span>' if merged["nodes"] else ""
            )
            rows.append((f"Level {level}", float(distinct), count(distinct) + share))
        body += bar_table("Distinct nodes by level", ("Level", "Distinct nodes"), rows)
    if "speed" in facts:
        speed = facts["speed"]
        ratio = speed["baseline"] / speed["seconds"] if speed["seconds"] > 0 else 0.0
        if ratio >= 1:
            name, times = say(speed["baseline_name"]), f"<strong>{_times(ratio)} times longer</strong>"
            lead += f"<p>By {name} one kernel matrix takes {times}.</p>"
        if not speed["measured"]:
            lead += '<p class="fine">That time is extrapolated from some pairs of graphs.</p>'
        about = "" if speed["measured"] else "about "
        rows = [
            ("fastgntk", speed["seconds"], time_text(speed["seconds"])),
            (speed["baseline_name"], speed["baseline"], about + time_text(speed["baseline"])),
        ]
        body += bar_table("Time of one kernel matrix", ("By", "Time"), rows)
    return (lead, body) if body else None


def _times(ratio: float) -> str:
    """Write a ratio with two digits: more would say more than a measured time can."""
    return number(float(f"{ratio:.2g}"), 2)


def _stages(facts: Facts) -> tuple[str, str] | None:
    if not facts["stages"]:
        return None
    total = sum(seconds for _, seconds in facts["stages"])
    rows = [(name, seconds, time_text(seconds)) for name, seconds in facts["stages"]]
    return f"<p>{time_text(total)} in all.</p>", bar_table("Time by stage", ("Stage", "Time"), rows)


def _run(facts: Facts) -> tuple[str, str]:
    rows = [(say(name), say(value)) for name, value in facts["run"]]
    command = (
        f'<pre tabindex="0" aria-label="Command"><code>{say(facts["command"])}</code></pre>\n'
        if facts["command"]
        else ""
    )
    body = table("Options, data and version", ("What", "Value"), rows, words=(0, 1)) if rows else ""
    return "<p>Enough to run it again.</p>", f'{command}<div class="run">{body}</div>'
