"""Registry of named data sets, one row each."""

import difflib
from dataclasses import dataclass

from fastgntk.datasets._dataset import Counts
from fastgntk.errors import InputError

__all__ = ["REGISTRY", "Row", "unknown_name"]

_TU_SITE = "https://www.chrsmrrs.com/graphkerneldatasets/"


@dataclass(frozen=True)
class Row:
    """A named data set: expected counts, address and citation."""

    name: str
    counts: Counts
    node_labels: bool
    citation: str
    published: tuple[float, float] | None = None
    """Accuracy of the GNTK, mean and standard deviation over folds, as printed by Du et al. 2019."""
    on_tu_site: bool = True

    @property
    def url(self) -> str | None:
        """The address of the zip file, None if it is not public."""
        return f"{_TU_SITE}{self.name}.zip" if self.on_tu_site else None


_YANARDAG = "Yanardag and Vishwanathan, Deep graph kernels, KDD 2015"
_NCI = "Wale and Karypis, Comparison of descriptor spaces for chemical compound retrieval, ICDM 2006"
_PROTEINS = "Borgwardt et al., Protein function prediction via graph kernels, Bioinformatics 2005"
_PTC = "Helma et al., The predictive toxicology challenge 2000-2001, Bioinformatics 2001"
_DEBNATH = "Debnath et al., Structure-activity relationship of mutagenic nitro compounds, J. Med. Chem. 1991"
_DOBSON = "Dobson and Doig, Distinguishing enzyme structures from non-enzymes, J. Mol. Biol. 2003"

REGISTRY: dict[str, Row] = {
    row.name: row
    for row in [
        Row("MUTAG", Counts(188, 3_371, 3_721, 0, 2), True, _DEBNATH, (0.900, 0.085)),
        # The PTC of the papers keeps hydrogen atoms; the TU site has PTC_MR, without them.
        Row("PTC", Counts(344, 8_792, 8_931, 0, 2), True, _PTC, (0.679, 0.069), on_tu_site=False),
        Row("PTC_MR", Counts(344, 4_915, 5_054, 0, 2), True, _PTC),
        Row("NCI1", Counts(4_110, 122_747, 132_753, 0, 2), True, _NCI, (0.842, 0.015)),
        Row("NCI109", Counts(4_127, 122_494, 132_604, 0, 2), True, _NCI),
        Row("PROTEINS", Counts(1_113, 43_471, 81_044, 0, 2), True, _PROTEINS, (0.756, 0.042)),
        Row("ENZYMES", Counts(600, 19_580, 37_282, 0, 6), True, _PROTEINS),
        Row("DD", Counts(1_178, 334_925, 843_046, 0, 2), True, _DOBSON),
        Row("IMDB-BINARY", Counts(1_000, 19_773, 96_531, 0, 2), False, _YANARDAG, (0.769, 0.036)),
        Row("IMDB-MULTI", Counts(1_500, 19_502, 98_903, 0, 3), False, _YANARDAG, (0.528, 0.046)),
        Row("COLLAB", Counts(5_000, 372_474, 12_286_079, 2_837, 3), False, _YANARDAG, (0.836, 0.010)),
        Row("REDDIT-BINARY", Counts(2_000, 859_254, 995_508, 0, 2), False, _YANARDAG),
    ]
}


def unknown_name(name: str) -> InputError:
    """Return the error for a name that is neither a file nor a known data set; the nearest names come first."""
    folded = {known.lower(): known for known in REGISTRY}
    near = [folded[k] for k in difflib.get_close_matches(name.lower(), folded, n=3, cutoff=0.4)]
    rest = [known for known in REGISTRY if known not in near]
    hint = f"did you mean {near[0]}? Known" if near else "known"
    return InputError(f"there is no data set, file or folder {name!r}; {hint} names: {', '.join(near + rest)}.")
