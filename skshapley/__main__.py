"""``python -m skshapley`` is the command ``skshapley``."""

import sys

from skshapley._cli import main

if __name__ == "__main__":
    sys.exit(main())
