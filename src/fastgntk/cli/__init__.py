"""The command line, one file for each command. The only part of the package that prints.

===============  ============================================================
``_evaluate``    ``fastgntk evaluate``
``_train``       ``fastgntk train``
``_predict``     ``fastgntk predict``
``_explain``     ``fastgntk explain``; ``_explained`` has the values that it prints
``_gram``        ``fastgntk gram``; ``_store`` has matrices on disk
``_bench``       ``fastgntk bench``
``_reproduce``   ``fastgntk reproduce``
``_info``        ``fastgntk info`` and ``fastgntk datasets``
``_groups``      option groups: how options are merged into commands
``_options``     the groups: kernel, kernels to try, sketch, computation, output
``_inputs``      the group of input options
``_lists``       lists of values in one option
``_data``        graphs from tables, JSON, names and TU files
``_new_graphs``  the same for a model, read as its training graphs were
``_task``        regression or classification
``_cost``        ``--estimate``
``_report``      ``--report``
``_console``     tables, progress bars, JSON
``_main``        the entry point, where errors become one sentence
===============  ============================================================

To add a command: write a function that takes option groups in a file of its own, decorate it with ``with_groups``, and
register it in ``_main``. To add an option to all commands that use a group: add a field to the group.
"""

from fastgntk.cli._main import main

__all__ = ["main"]
