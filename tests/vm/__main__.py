"""`python3 -m vm packages`: what Debian must have installed.

`python3 -m vm [-n GUESTS] COMMAND...`: each shell line in one guest after the other, for people.
"""

from __future__ import annotations

import argparse
import sys

from vm import PACKAGES
from vm.ethernet import guests


def main() -> int:
    parser = argparse.ArgumentParser(prog="vm", usage=__doc__)
    parser.add_argument("-n", type=int, default=1)
    parser.add_argument("commands", nargs="+")
    asked = parser.parse_args()
    if asked.commands == ["packages"]:
        print(PACKAGES)
        return 0
    worst = 0
    with guests(asked.n) as machines:
        for command in asked.commands:
            for machine in machines:
                done = machine.run(command)
                print(f"{machine.name}: {command}: {done.code}\n{done.out}{done.err}", flush=True)
                worst = worst or done.code
    return worst


if __name__ == "__main__":
    sys.exit(main())
