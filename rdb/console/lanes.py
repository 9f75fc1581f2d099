"""The timeline of ranks in the terminal: one lane for each rank."""

from __future__ import annotations

import math

from rich.console import Console
from rich.text import Text

from rdb.commands.values import Timeline
from rdb.console.narrow import flow
from rdb.console.show import error_line, render
from rdb.recording.messages.lanes import Lane, Mark, Span
from rdb.session.merge import merge
from rdb.session.ranks import format_ranks

_BLOCKS = "▁▂▃▄▅▆▇█"
_HERE = "▼"
# In a column with several marks the rarest shows; a send and a receive show as one sign.
_SIGNS = (
    (Mark.CHECKPOINT, "◆", "yellow"),
    (Mark.SEND | Mark.RECEIVE, "×", "green"),
    (Mark.SEND, ">", "green"),
    (Mark.RECEIVE, "<", "green"),
    (Mark.COLLECTIVE, "+", "magenta"),
)
_LEGEND = (
    (_HERE, "bold red", "stands here"),
    ("◆", "yellow", "checkpoint"),
    (">", "green", "sends"),
    ("<", "green", "receives"),
    ("×", "green", "both"),
    ("+", "magenta", "collective"),
    ("▁█", "", "other events, few and many"),
)


@render.register
def _(value: Timeline, out: Console) -> None:
    margin = len(str(max(value.times)))
    width = max(out.width - margin - 1, 10)
    lanes = {
        rank: times.lane(value.span, width, value.events[rank])
        for rank, times in value.times.items()
    }
    busiest = max(count for lane in lanes.values() for count in lane.events)
    for rank, lane in lanes.items():
        line = Text(f"{rank:>{margin}} ", "bold")
        line.append_text(_line(lane, busiest))
        line.rstrip()
        out.print(line)
    out.print(Text(" " * (margin + 1) + _axis(value.span, width)))
    out.print(_legend(out.width))
    for group in merge(value.problems):
        error_line(group.value, out, format_ranks(group.ranks))


def _line(lane: Lane, busiest: int) -> Text:
    line = Text()
    for column, (count, marks) in enumerate(zip(lane.events, lane.marks, strict=True)):
        if column == lane.here:
            line.append(_HERE, "bold red")
            continue
        sign = next((one for one in _SIGNS if marks & one[0] == one[0]), None)
        if sign is not None:
            line.append(sign[1], sign[2])
        else:
            line.append(_block(count, busiest))
    return line


def _block(count: int, busiest: int) -> str:
    """A block whose height is logarithmic in COUNT: one event is visible beside a million."""
    if not count:
        return " "
    share = math.log(count + 1) / math.log(busiest + 1)
    return _BLOCKS[min(int(share * len(_BLOCKS)), len(_BLOCKS) - 1)]


def _axis(span: Span, width: int) -> str:
    """Seconds since the job's beginning: at both ends, and between them if there is room."""
    length = span.last_ns - span.first_ns
    places = max(0, min(9, 2 - math.floor(math.log10(max(length, 1) / 1e9))))
    count = max(1, width // 20)
    text = ""
    for tick in range(count + 1):
        at_s = (span.first_ns - span.base_ns + length * tick // count) / 1e9
        label = f"{at_s:.{places}f} s" if tick == count else f"{at_s:.{places}f}"
        column = width * tick // count
        column = min(column, width - len(label)) if tick == count else column
        if column >= len(text) + bool(text):
            text = text.ljust(column) + label
    return text


def _legend(width: int) -> Text:
    signs = [
        Text(sign, style).append(f" {meaning}", "not bold") for sign, style, meaning in _LEGEND
    ]
    return Text("\n").join(flow(signs, width))
