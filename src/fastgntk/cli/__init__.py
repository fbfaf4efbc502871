"""The command line: one file a command. The only part of the package that prints.

==================  ===========================================
``_evaluate``       ``fastgntk evaluate``
``_train``          ``fastgntk train``
``_predict``        ``fastgntk predict``
``_explain``        ``fastgntk explain``
``_gram``           ``fastgntk gram``
``_bench``          ``fastgntk bench``
``_reproduce``      ``fastgntk reproduce``
``_datasets``       ``fastgntk datasets``
``_info``           ``fastgntk info``
``_data``           graphs from tables, JSON, names and TU files
``_inputs``         options of tables of edges and of JSON
``_options``        options that several commands share
``_report``         ``--report``
``_console``        tables, progress bars, JSON
``_main``           the entry point; where errors become one sentence
==================  ===========================================

To add a command: write a function in a file of its own and register it in ``_main``.
"""

from fastgntk.cli._main import main

__all__ = ["main"]
