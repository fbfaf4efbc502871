from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from fastgntk import InputError
from fastgntk.datasets import Dataset, read_table

GOOD = "name,Smiles,expt,calc\nmethanol,CO,-5.11,-3.49\nwater,O,-6.3,1e1\n"


def write(folder: Path, text: str | bytes, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def refused(path: Path, **options) -> str:
    """Return the message; one sentence that names the file."""
    with pytest.raises(InputError) as caught:
        read_table(path, **options)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert message.endswith(".")
    assert "\n" not in message
    return message.removeprefix(str(path))


def test_table_attributes(tmp_path):
    table = read_table(write(tmp_path, GOOD), target="expt")
    assert isinstance(table, Dataset)
    assert table.name == "t"
    assert table.y.tolist() == [-5.11, -6.3]
    assert table.y.dtype == np.float64
    assert table.smiles == ("CO", "O")
    assert table.rows.tolist() == [1, 2]
    assert table.rows.dtype == np.int64
    assert table.targets == ("expt",)
    assert table.skipped == ()
    assert table.columns == ("name", "Smiles", "expt", "calc")
    assert [g.labels.tolist() for g in table.graphs] == [["C", "O"], ["O"]]
    assert repr(table) == "MoleculeTable('t', 2 molecules, 3 atoms)"


def test_no_target_gives_no_y(tmp_path):
    table = read_table(write(tmp_path, GOOD))
    assert (table.y, table.targets) == (None, ())


def test_several_targets_keep_their_order(tmp_path):
    table = read_table(write(tmp_path, GOOD), target=["calc", "expt"])
    assert table.y.tolist() == [[-3.49, -5.11], [10.0, -6.3]]
    assert table.targets == ("calc", "expt")
    assert read_table(write(tmp_path, GOOD), target=["calc"]).y.shape == (2, 1)


def test_text_targets_are_classes(tmp_path):
    table = read_table(write(tmp_path, "smiles,c\nC,Na\nCC,1\nCCC,1_0\n"), target="c")
    assert table.y.tolist() == ["Na", "1", "1_0"]
    assert table.y.dtype.kind == "U"
    assert table.counts.classes == 3
    assert read_table(write(tmp_path, "smiles,c\nC,1_0\n"), target="c").y.tolist() == ["1_0"]


@pytest.mark.parametrize("name", ["t.csv.gz", "t.tsv", "t.tsv.gz", "t.CSV"])
def test_gzip_and_tab_separated_files(tmp_path, name):
    text = GOOD.replace(",", "\t") if "tsv" in name else GOOD
    content = gzip.compress(text.encode()) if name.endswith("gz") else text.encode()
    table = read_table(write(tmp_path, content, name), target="expt")
    assert table.y.tolist() == [-5.11, -6.3]
    assert table.name == "t"


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff" + GOOD.replace("name,Smiles", "Smiles,name").replace("methanol,CO", "CO,x").replace("water,O", "O,y"),
        GOOD.replace("\n", "\r\n"),
        GOOD.replace("\n", "\r"),
        GOOD.removesuffix("\n"),
        "\n" + GOOD.replace("\n", "\n\n") + " \n",
        GOOD.replace("Smiles", " SMILES ").replace("CO", " CO "),
        GOOD.replace("water", "wäter"),
    ],
    ids=["byte order mark", "CRLF", "CR", "no last line end", "blank lines", "spaces", "umlaut"],
)
def test_byte_order_mark_line_ends_and_blank_lines(tmp_path, text):
    table = read_table(write(tmp_path, text), target="expt")
    assert table.smiles == ("CO", "O")
    assert table.rows.tolist() == [1, 2]
    assert table.y.tolist() == [-5.11, -6.3]


def test_quoted_cells_hold_separators_quotes_and_line_ends(tmp_path):
    table = read_table(
        write(tmp_path, 'name,smiles,y\n"1,2-diol",OCCO,1\n"two\n""lines""",C,2\n"","CC",3\n'), target="y"
    )
    assert table.smiles == ("OCCO", "C", "CC")
    assert table.y.tolist() == [1, 2, 3]


def test_smiles_column_by_name(tmp_path):
    path = write(tmp_path, "smiles,SMILES,raw\nC,N,O\n")
    assert read_table(path, smiles="raw").smiles == ("O",)
    assert read_table(path, smiles="SMILES").smiles == ("N",)
    message = refused(path)
    assert (
        message
        == " has several columns called smiles; name the right one with smiles= (--smiles) among 'smiles', 'SMILES', "
        "'raw'."
    )


def test_missing_columns(tmp_path):
    path = write(tmp_path, "mol,y\nC,1\n")
    assert refused(path) == (
        " has no column called smiles; name the right one with smiles= (--smiles) among 'mol', 'y', "
        "or read_edge_list (--graph) for edges."
    )
    assert refused(path, smiles="Mol") == " has no column 'Mol'; choose smiles= (--smiles) among 'mol', 'y'."
    assert refused(path, smiles="mol", target="z") == " has no column 'z'; choose target= (--target) among 'mol', 'y'."
    assert refused(path, smiles="mol", target=["y", "z"]).startswith(" has no column 'z'")


def test_duplicate_targets_are_rejected(tmp_path):
    path = write(tmp_path, "smiles,y,y\nC,1,2\n")
    assert refused(path, target="y") == " has 2 columns called 'y'; rename them so that target= (--target) names one."
    with pytest.raises(InputError, match="target must name each column once, but is 'a', 'a'"):
        read_table(write(tmp_path, "smiles,a\nC,1\n"), target=["a", "a"])


@pytest.mark.parametrize(("sign", "called"), [(";", "semicolons"), ("\t", "tabs")])
def test_other_delimiters_are_recognised(tmp_path, sign, called):
    assert f"it seems to be separated by {called}: " in refused(write(tmp_path, GOOD.replace(",", sign)))


def test_commas_in_a_tsv_file_are_recognised(tmp_path):
    assert "separated by commas: save it with commas as .csv" in refused(write(tmp_path, GOOD, "t.tsv"))


@pytest.mark.parametrize("value", ["", "  ", "NaN", "nan", "NA", "N/A", "inf", "-inf", "Infinity", "null", "1e999"])
@pytest.mark.parametrize("others", ["1", "yes"])
def test_missing_values_are_reported(tmp_path, value, others):
    path = write(tmp_path, f"smiles,y\nC,{others}\n\nCC,{value}\nCCC,{others}\n")
    assert refused(path, target="y") == (
        " has no finite value in column 'y' in data row 2; fill them in or remove these rows."
    )


def test_many_missing_values_are_counted(tmp_path):
    path = write(tmp_path, "smiles,a,y\n" + "C,1,\n" * 17)
    assert "in column 'y' in data rows 1, 2, 3, 4, 5 and 12 more;" in refused(path, target=["a", "y"])
    assert "data rows 1, 2 and 3;" in refused(write(tmp_path, "smiles,y\n" + "C,\n" * 3), target="y")
    assert "data rows 1, 2, 3, 4 and 5;" in refused(write(tmp_path, "smiles,y\n" + "C,\n" * 5), target="y")
    assert "5 and 1 more;" in refused(write(tmp_path, "smiles,y\n" + "C,\n" * 6), target="y")


def test_missing_values_in_unused_columns_are_ignored(tmp_path):
    path = write(tmp_path, "smiles,a,y\nC,,1\nC1C,2,\n")
    assert read_table(path, target="y", skip_invalid=True).y.tolist() == [1.0]


def test_text_among_several_targets_is_rejected(tmp_path):
    path = write(tmp_path, "smiles,a,b\nC,1,1\nCC,2,<5\nCCC,3,high\n")
    assert refused(path, target=["a", "b"]) == (
        " has something other than a number in column 'b' in data rows 2 and 3; a sequence of targets must hold "
        "numbers only."
    )


UNREADABLE = 'note,smiles,y\n"one\ntwo",C1CC,1\nx,CC,2\n\n"three\nfour",,3\nx,O,4\nx,xyz,5\n'


def test_unreadable_smiles_are_reported_with_their_line(tmp_path, capfd):
    assert refused(write(tmp_path, UNREADABLE)) == (
        " has SMILES that RDKit cannot read, in data rows 1, 3 and 5 (lines 2, 6 and 9 of the file); correct them, "
        "or leave them out with skip_invalid=True (--skip-invalid)."
    )
    assert "(lines 2, 3, 4, 5, 6 and 4 more of the file);" in refused(write(tmp_path, "smiles\n" + "C1\n" * 9 + "C\n"))
    assert "in data row 2 (line 3 of the file);" in refused(write(tmp_path, "smiles\nC\nC1\n"))
    assert capfd.readouterr() == ("", "")


def test_skip_invalid_leaves_out_unreadable_smiles(tmp_path):
    table = read_table(write(tmp_path, UNREADABLE), target="y", skip_invalid=True)
    assert table.smiles == ("CC", "O")
    assert table.rows.tolist() == [2, 4]
    assert table.skipped == (1, 3, 5)
    assert table.y.tolist() == [2.0, 4.0]
    assert [g.labels.tolist() for g in table.graphs] == [["C", "C"], ["O"]]


def test_table_without_readable_smiles(tmp_path):
    path = write(tmp_path, "smiles\nC1\n")
    for skip_invalid in (True, False):
        assert refused(path, skip_invalid=skip_invalid) == (
            " has no SMILES in column 'smiles' that RDKit can read; name the right column with smiles= (--smiles) "
            "among 'smiles'."
        )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", " is empty; a table needs a header and a row for each molecule."),
        ("\n\n", " is empty; a table needs a header and a row for each molecule."),
        ("smiles,y\n", " has a header but no rows; a table needs a row for each molecule."),
        (
            "smiles,y\nC,1\n\nC\n",
            ", line 4: the row has 1 cells, but the header has 2; quote cells that hold the separator.",
        ),
        (
            'smiles,y\n"C\n",1\nC,1,2\n',
            ", line 4: the row has 3 cells, but the header has 2; quote cells that hold the separator.",
        ),
        ('smiles,y\nC,1\n"C"C,1\n', """, line 3: the row cannot be read (',' expected after '"'); check its quotes."""),
        ('smiles,y\nC,1\n"C,1\nC,2\n', ", line 3: the row cannot be read (unexpected end of data); check its quotes."),
        (b"smiles\nC\xff\xfe\n", " is not text in UTF-8; save the table as CSV in UTF-8."),
        (b"smiles\nC\0C\n", " is not text in UTF-8; save the table as CSV in UTF-8."),
        (GOOD.encode("utf-16"), " is not text in UTF-8; save the table as CSV in UTF-8."),
    ],
)
def test_invalid_tables(tmp_path, text, message):
    assert refused(write(tmp_path, text)) == message


def test_missing_file_and_folder(tmp_path):
    assert refused(tmp_path / "no.csv") == " does not exist; check the path."
    assert refused(tmp_path) == " is a folder; give the path of a file."
    path = write(tmp_path, GOOD)
    assert refused(path / "below.csv").startswith(" cannot be read (")


@pytest.mark.parametrize(
    "content",
    [GOOD.encode(), gzip.compress(GOOD.encode())[:30], gzip.compress(GOOD.encode())[:10] + b"\xff" * 40],
    ids=["no gzip", "cut off", "damaged"],
)
def test_damaged_gzip_files(tmp_path, content):
    assert refused(write(tmp_path, content, "t.csv.gz")).startswith(" is not a complete gzip file (")


def test_progress_counts_molecules(tmp_path):
    calls = []
    read_table(write(tmp_path, GOOD), progress=lambda *call: calls.append(call))
    assert calls == [(0, 2), (2, 2)]


@pytest.mark.slow
def test_real_tables(shared_data):
    path = shared_data / "molecules" / "BBBP.csv"
    assert "(lines 61, 63, 393, 616, 644 and 6 more of the file);" in refused(path)
    table = read_table(path, target="p_np", skip_invalid=True)
    assert (len(table), len(table.skipped), len(table.y)) == (2039, 11, 2039)
    assert set(table.y) == {0.0, 1.0}
    solvation = read_table(shared_data / "molecules" / "FreeSolv_SAMPL.csv", target=["expt", "calc"])
    assert solvation.y.shape == (642, 2)
    assert solvation.y[0].tolist() == [-11.01, -9.625]
    assert solvation.graphs.sizes[0] == 13
