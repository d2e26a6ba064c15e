"""Run the command ``skshapley`` by ``python -m skshapley``."""

import sys

from skshapley._cli import main

if __name__ == "__main__":
    sys.exit(main())
