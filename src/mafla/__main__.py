"""``python -m mafla`` is the command ``mafla``."""

import sys

from mafla.cli import main

if __name__ == "__main__":
    sys.exit(main())
