"""``python -m fastgntk``: the command line."""

from fastgntk.cli import main

if __name__ == "__main__":
    main()
