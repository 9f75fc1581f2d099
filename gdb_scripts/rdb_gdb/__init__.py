"""rdb inside GDB: one command a module, a history of what was done, packets to the server."""

from __future__ import annotations

_loaded = False


def load() -> None:
    """Defines the commands; a second time does nothing."""
    global _loaded
    if _loaded:
        return
    _loaded = True
    from . import (
        aliases,
        asked,
        away,
        bindings,
        bisect,
        bookmark,
        branch,
        calls,
        changes,
        conditions,
        dlang,
        fields,
        find_event,
        finishing,
        first,
        follow,
        forking,
        goto,
        history,
        hits,
        intrinsics,
        last,
        listing,
        look,
        mappings,
        meant,
        names,
        number,
        object,
        opening,
        output,
        own,
        printers,
        redo,
        starting,
        state,
        undo,
        variables,
        warnings,
        when,
    )

    for module in (opening, undo, redo, listing, when, goto, bookmark, branch, names, warnings):
        module.define()
    for module in (last, first, changes, calls, bisect, find_event, output, state, asked):
        module.define()
    for module in (look, fields, object, follow, forking, away, starting, printers):
        module.define()
    for module in (bindings, dlang, finishing, hits, intrinsics, mappings, meant, number, own):
        module.define()
    variables.define()
    conditions.define()
    aliases.define()
    history.watch()
