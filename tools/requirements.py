"""Prints what the development environment needs, taken from pyproject.toml (one place for it).

`requirements.py EXTRA`: what that extra needs.
"""

import sys
import tomllib
from pathlib import Path

with (Path(__file__).resolve().parent.parent / "pyproject.toml").open("rb") as file:
    data = tomllib.load(file)

project = data["project"]
extras = project["optional-dependencies"]
everything = data["build-system"]["requires"] + project["dependencies"] + extras["test"]
for requirement in extras[sys.argv[1]] if sys.argv[1:] else everything:
    print(requirement)
