"""Published figures, by data set."""

__all__ = ["DATA", "GIN_ACCURACY", "GNTK_ACCURACY", "PAPER_SECONDS"]

DATA = ("COLLAB", "IMDB-BINARY", "IMDB-MULTI", "PTC", "NCI1", "MUTAG", "PROTEINS")

PAPER_SECONDS: dict[str, tuple[float | None, float]] = {
    "COLLAB": (None, 4_523.0),  # GNTK took more than 24 hours
    "IMDB-BINARY": (546.4, 90.7),
    "IMDB-MULTI": (686.0, 112.5),
    "PTC": (46.5, 13.5),
    "NCI1": (10_084.7, 7_446.8),
    "MUTAG": (8.0, 3.0),
    "PROTEINS": (1_392.0, 782.7),
}
"""Running time of GNTK and of the paper's method, in seconds (Jiang et al. 2022, the table of running times)."""

GNTK_ACCURACY = {
    "COLLAB": 83.6, "IMDB-BINARY": 76.9, "IMDB-MULTI": 52.8, "PTC": 67.9, "NCI1": 84.2, "MUTAG": 90.0, "PROTEINS": 75.6,
}  # fmt: skip
"""Accuracy of GNTK in per cent (Du et al. 2019)."""

GIN_ACCURACY = {
    "COLLAB": 80.2, "IMDB-BINARY": 75.1, "IMDB-MULTI": 52.3, "PTC": 64.6, "NCI1": 82.7, "MUTAG": 89.4, "PROTEINS": 76.2,
}  # fmt: skip
"""Accuracy of GIN in per cent (Xu et al. 2019)."""
