"""Prints what the development environment needs, taken from pyproject.toml (one place for it)."""

import tomllib
from pathlib import Path

with (Path(__file__).resolve().parent.parent / "pyproject.toml").open("rb") as file:
    data = tomllib.load(file)

project = data["project"]
for requirement in (
    data["build-system"]["requires"]
    + project["dependencies"]
    + project["optional-dependencies"]["test"]
):
    print(requirement)
