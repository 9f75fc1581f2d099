"""Tables that are wider than the terminal: nothing is cut, a row takes several lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

_GAP = 2
_INDENT = 4
_READABLE = 28  # a narrower last column goes below its row


def shown_narrow(table: Table, out: Console) -> Iterator[Text] | None:
    """The lines of a table that is too wide; None: it fits, or its last column can be wrapped."""
    columns = [[_text(cell) for cell in column.cells] for column in table.columns]
    widths = [
        max((cell.cell_len for cell in (_text(column.header), *cells)), default=0)
        for column, cells in zip(table.columns, columns, strict=True)
    ]
    room = out.width - sum(widths[:-1]) - _GAP * (len(widths) - 1)
    longest = max(
        (cell_len(word) for cell in columns[-1] for word in cell.plain.split()), default=0
    )
    if widths[-1] <= room or (room >= _READABLE and longest <= room):
        return None
    rows = list(zip(*columns, strict=True))
    if room + _GAP >= 0:
        return _hanging(table, rows, widths, out)
    return _flowing(table, rows, out)


def _text(cell: object) -> Text:
    return cell.copy() if isinstance(cell, Text) else Text.from_markup(str(cell))


def _hanging(
    table: Table, rows: Sequence[Sequence[Text]], widths: Sequence[int], out: Console
) -> Iterator[Text]:
    """The lines of a table whose last column goes below the others."""
    lines = [(table.header_style, [_text(column.header) for column in table.columns])]
    lines = lines if table.show_header else []
    lines += [(row.style or "", list(cells)) for row, cells in zip(table.rows, rows, strict=True)]
    for style, cells in lines:
        line = Text()
        for column, cell, width in zip(table.columns[:-1], cells, widths, strict=False):
            cell.align("right" if column.justify == "right" else "left", width)
            line.append_text(cell).append(" " * _GAP)
        line.rstrip()
        line.stylize(style)
        yield line
        for part in cells[-1].wrap(out, max(out.width - _INDENT, 1)):
            part.rstrip()
            part.stylize(style)
            yield Text(" " * _INDENT).append_text(part)


def _flowing(table: Table, rows: Sequence[Sequence[Text]], out: Console) -> Iterator[Text]:
    """Prints the cells of a row one after the other, each with its column's name."""
    for row, cells in zip(table.rows, rows, strict=True):
        line, started = Text(), False
        for column, cell in zip(table.columns, cells, strict=True):
            if not cell.plain:
                continue
            title = _text(column.header)
            title.stylize("dim")
            piece = title.append(" " if title.plain else "").append_text(cell)
            piece.stylize(row.style or "")
            if started and line.cell_len + _GAP + piece.cell_len > out.width:
                yield line
                line = Text(" " * _INDENT)
            elif started:
                line.append(" " * _GAP)
            *whole, rest = piece.wrap(out, max(out.width - line.cell_len, _INDENT)) or [piece]
            for part in whole:
                yield line.append_text(part)
                line = Text(" " * _INDENT)
            line.append_text(rest)
            started = True
        yield line


def flow(pieces: Sequence[Text], width: int) -> Iterator[Text]:
    """Puts PIECES one after the other into lines of at most WIDTH columns."""
    line, gap = Text(), 3
    for piece in pieces:
        if line.cell_len and line.cell_len + gap + piece.cell_len > width:
            yield line
            line = Text()
        elif line.cell_len:
            line.append(" " * gap)
        line.append_text(piece)
    if line.cell_len:
        yield line
