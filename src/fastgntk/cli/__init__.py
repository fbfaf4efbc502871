"""The command line, one file for each command. The only part of the package that prints.

==================  ============================================================
``_evaluate``       ``fastgntk evaluate``
``_train``          ``fastgntk train``
``_predict``        ``fastgntk predict``
``_explain``        ``fastgntk explain``
``_gram``           ``fastgntk gram``: matrices in files and stores, and their cost
``_bench``          ``fastgntk bench``
``_reproduce``      ``fastgntk reproduce``
``_info``           ``fastgntk info`` and ``fastgntk datasets``
``_option_groups``  how options are declared and merged into commands
``_options``        the groups: kernel, kernels to try, sketch, computation, output
``_inputs``         the group of input options, and how graphs are read
``_console``        tables, progress bars, JSON
``_main``           the entry point, where errors become one sentence
==================  ============================================================

To add a command: write a function that takes option groups in a file of its own, decorate it with ``with_groups``, and
register it in ``_main``. To add an option to all commands that use a group: add a field to the group.
"""

from fastgntk.cli._main import main

__all__ = ["main"]
