"""Commands that compare the values of several ranks."""

from __future__ import annotations

from rdb.commands.registry import Group, Need, command
from rdb.commands.values import Difference, Plot
from rdb.errors import RdbError, Usage
from rdb.session.across import differences, whose
from rdb.session.looking import Fields, Number
from rdb.session.ranks import Rank, parse_ranks
from rdb.session.session import Session


@command("plot", group=Group.LOOK, usage="plot EXPR", needs=Need.STOPPED)
async def plot(session: Session, expression: str) -> Plot:
    """Draw a number over the ranks in focus.

    Each rank is one column or several. If there are more ranks than columns, neighbours share one,
    which shows the highest of them. `print --stats EXPR` prints least, most and mean.
    """
    return Plot(expression, *await numbers_of(session, expression))


async def numbers_of(
    session: Session, expression: str
) -> tuple[dict[Rank, float], dict[Rank, str], dict[Rank, str]]:
    """Evaluates EXPRESSION in each rank in focus.

    Returns the numbers, what ranks without a number said instead, and the variables that each
    answer used. RdbError: no rank has a number.
    """
    numbers: dict[Rank, float] = {}
    others: dict[Rank, str] = {}
    answers: dict[Rank, Number | Fields] = {}
    for rank, answer in (await session.look(lambda gdb: gdb.number(expression))).items():
        if isinstance(answer, RdbError):
            others[rank] = answer.message
        elif answer.value is None:
            others[rank] = f"not a number: {answer.text}"
        else:
            numbers[rank] = answer.value
            answers[rank] = answer
    if not numbers:
        reasons = sorted(set(others.values()))
        raise RdbError(reasons[0])
    return numbers, others, whose(answers)


@command("diff", group=Group.LOOK, usage="diff EXPR RANK RANK")
async def diff(session: Session, expression: str) -> Difference:
    """Compare a value in two ranks, member by member, element by element.

    Only differences are shown, by the names that the program's language has for them: `w(2,1)` in
    Fortran, `w[0][1]` in C, elements of containers of C++. The first 200 elements of each dimension
    of an array, and of a container, are compared, at most 20,000 in all. Members that have no value
    in one of the ranks (optimized out) are not compared; rdb says so. The ranks need not be in
    focus; rdb looks at each where it stands.
    """
    usage = "usage: diff EXPR RANK RANK"
    words = expression.rsplit(maxsplit=2)
    if len(words) != 3:
        raise Usage("diff needs an expression and two ranks", usage)
    what, (first, second) = words[0], words[1:]
    if not (first.isdigit() and second.isdigit()):
        raise Usage(f"{first!r} and {second!r} are not two ranks", usage)
    (one,) = parse_ranks(first, session.ranks)
    (other,) = parse_ranks(second, session.ranks)
    found = await session.look(lambda gdb: gdb.fields(what), sorted({one, other}))
    sides = []
    for rank in (one, other):
        answer = found[rank]
        if isinstance(answer, RdbError):
            raise RdbError(f"rank {rank}: {answer.message}")
        sides.append(answer)
    missing = {**sides[1].missing, **sides[0].missing}
    compared = [
        {name: text for name, text in side.values.items() if name not in missing} for side in sides
    ]
    if missing and not any(compared):
        poorer = min((side for side in sides if side.missing), key=lambda side: len(side.values))
        rank = (one, other)[sides.index(poorer)]
        raise RdbError(f"rank {rank}: {next(iter(poorer.missing.values()))}")
    rows = differences(*compared)
    variables = whose(dict(zip((one, other), sides, strict=True)))
    return Difference(what, (one, other), rows, len(compared[0]), variables, missing)
