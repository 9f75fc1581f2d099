"""The whole table of commands: each module of this folder enters its rows."""

import importlib
import pkgutil

import rdb.commands
from rdb.commands.registry import REGISTRY

__all__ = ["REGISTRY"]

for _module in pkgutil.iter_modules(rdb.commands.__path__, "rdb.commands."):
    importlib.import_module(_module.name)
# In the order of the modules, whichever of them was imported first.
REGISTRY.commands.sort(key=lambda one: one.handler.__module__)
