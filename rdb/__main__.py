"""`python -m rdb`."""

import sys

from rdb.cli import main

sys.exit(main())
