"""``python -m dyntree`` is the console command."""

import sys

from dyntree.cli import main

sys.exit(main())
