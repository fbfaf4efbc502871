"""Every notebook in examples/ runs from top to bottom, offline, in its own folder, and is stored without outputs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "examples"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))

# In a process of its own: Jupyter leaves sockets to the garbage collector, which is not ours to warn about. The kernel
# is the Python that runs the tests, whatever kernels are installed on this machine.
PROGRAM = """
import sys
import nbformat
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

source, target = sys.argv[1:]
notebook = nbformat.read(source, as_version=4)
manager = AsyncKernelManager()
manager._kernel_spec = KernelSpec(argv=[sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"])
NotebookClient(notebook, km=manager, timeout=300, resources={"metadata": {"path": "."}}).execute()
nbformat.write(notebook, target)
"""


def test_notebooks_are_found():
    assert {path.name for path in NOTEBOOKS} == {"molecules.ipynb", "networkx_explained.ipynb"}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_notebook_is_stored_without_outputs(path):
    assert path.stat().st_size < 20_000
    for cell in json.loads(path.read_text())["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            assert cell["execution_count"] is None


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_notebook_runs_without_warnings(path, tmp_path):
    no_server = dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9")
    own = {name: str(tmp_path / name.lower()) for name in ("JUPYTER_RUNTIME_DIR", "IPYTHONDIR", "MPLCONFIGDIR")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, path, "done.ipynb"],
        cwd=tmp_path,
        env={**os.environ, **no_server, **own},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    cells = json.loads((tmp_path / "done.ipynb").read_text())["cells"]
    assert all(cell["execution_count"] for cell in cells if cell["cell_type"] == "code")
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    assert not [output for output in outputs if output.get("name") == "stderr"]  # no warning, no log
    assert any("image/svg+xml" in output.get("data", {}) for output in outputs)
    assert any(output.get("name") == "stdout" for output in outputs)
