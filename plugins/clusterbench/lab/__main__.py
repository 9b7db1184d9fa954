from __future__ import annotations

import sys

from clusterbench.lab.command import main

sys.exit(main(sys.argv[1:]))
