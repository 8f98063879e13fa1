"""``python -m nervure`` is the command ``nervure``."""

from __future__ import annotations

import sys

from nervure.tools.cli import main

if __name__ == "__main__":
    sys.exit(main())
