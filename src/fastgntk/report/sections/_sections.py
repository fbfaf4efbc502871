"""The sections of the page that exist without JavaScript, in order.

Charts that are coloured tables (confusion matrix, score by options, bars) are HTML tables. The others are empty boxes
with ``data-chart``, filled by JavaScript, each with a table of its numbers.
"""

from dataclasses import dataclass

from fastgntk.report._schema import ReportData
from fastgntk.report.sections._kernel import graph_map, heat_map
from fastgntk.report.sections._markup import escape, prose
from fastgntk.report.sections._predictions import calibration, predictions
from fastgntk.report.sections._run import command_and_options, stage_times, work_saved
from fastgntk.report.sections._score import score, score_by_options

__all__ = ["Section", "sections", "warnings"]


@dataclass(frozen=True)
class Section:
    """One section of the page; ``lead`` and ``body`` are HTML."""

    key: str  # anchor
    title: str
    lead: str  # explanation
    body: str
    wide: bool = False  # body below the lead, not next to it

    def html(self) -> str:
        """Return the section as HTML."""
        kind = ' class="wide"' if self.wide else ""
        return (
            f'<section id="{self.key}" aria-labelledby="{self.key}-title"{kind}>\n'
            f'<div class="lead"><h2 id="{self.key}-title">{escape(self.title)}</h2>\n{self.lead}</div>\n'
            f'<div class="body">\n{self.body}\n</div>\n</section>\n'
        )


def sections(report: ReportData) -> list[Section]:
    """Return the sections that have content, in order."""
    parts = [
        ("score", "Score", score(report)),
        ("predictions", "Predictions", predictions(report)),
        ("calibration", "Calibration", calibration(report)),
        ("options", "Options", score_by_options(report)),
        ("kernel", "Kernel", heat_map(report)),
        ("map", "Map", graph_map(report)),
        ("saved", "Work saved", work_saved(report)),
        ("time", "Time", stage_times(report)),
        ("run", "Run", command_and_options(report)),
    ]
    return [Section(key, title, *part, wide=key == "map") for key, title, part in parts if part is not None]


def warnings(report: ReportData) -> str:
    """Return the warnings as HTML, empty if there are none."""
    if not report["warnings"]:
        return ""
    items = "".join(f"<li>{prose(warning)}</li>" for warning in report["warnings"])
    title = '<h2 id="warnings-title">Warnings</h2>'
    return f'<section class="warnings" aria-labelledby="warnings-title">{title}<ul>{items}</ul></section>'
