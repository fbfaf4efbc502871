"""The command line: one file a command. The only part of the package that prints.

==================  ===========================================
``_evaluate``       ``fastgntk evaluate``
``_gram``           ``fastgntk gram``
``_datasets``       ``fastgntk datasets``
``_info``           ``fastgntk info``
``_options``        options that several commands share
``_console``        tables, progress bars, JSON
``_main``           the entry point; where errors become one sentence
==================  ===========================================

To add a command: write a function in a file of its own and register it in ``_main``.
"""

from fastgntk.cli._main import main

__all__ = ["main"]
