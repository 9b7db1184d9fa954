from __future__ import annotations

import sys

from clusterbench_docs.command import main

sys.exit(main(sys.argv[1:]))
