"""The static part of the page: text, numbers, tables, and boxes that JavaScript fills.

=============  ==================================================================
``_sections``  which sections there are
``_quality``   how good predictions are, which options were tried, the kernel
``_markup``    pieces of HTML
=============  ==================================================================
"""

from fastgntk.report.sections._markup import prose, say
from fastgntk.report.sections._sections import sections, warnings

__all__ = [
    "prose",
    "say",
    "sections",
    "warnings",
]
