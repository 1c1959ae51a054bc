"""``python -m wengert`` and the ``wengert`` command."""

from __future__ import annotations

import sys

from wengert.lab.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
