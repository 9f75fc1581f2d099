"""Generated programs in C that copy numbers in many ways, and where each number was made."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

_TYPES = ("int", "long", "float", "double", "long double")
_LETTERS = {"float": "s", "double": "l", "long double": "t", "int": "l", "long": "ll"}
_HEAD = """
#include <unistd.h>
#define APART __attribute__((noinline, noipa)) static
static volatile int seed = 3, one = 1, none;
/* The next function finds no equal bytes where it has its locals. */
APART void scrub(long with)
{
	volatile long filled[64];
	for (int i = 0; i < 64; i++)
		filled[i] = with * 1000 + i;
}
APART void nothing(void)
{
	none += getppid();
}
"""


@dataclass
class Program:
    """SOURCE has the variables of `made`: each with the function that made its value."""

    made: dict[str, str] = field(default_factory=dict)
    _functions: str = _HEAD
    _main: str = ""
    _count: int = 0

    @property
    def source(self) -> str:
        return f"{self._functions}\nint main(void)\n{{\n{self._main}\tgetppid();\n\treturn 0;\n}}\n"

    def chain(self, type_: str, ways: list[str]) -> None:
        """A number of this type that is made, and then goes these ways."""
        makes = self._next("makes")
        self._function(f"{type_} {makes}(void)", f"return ({type_})(seed * {self._count + 5}) / 2;")
        last = self._variable(type_)
        self._main += f"\t{last} = {makes}();\n"
        for way in ways:
            if way == "computes":
                makes = self._next("computes")
            last = self._way(way, type_, last, makes)
        self.made[last] = makes

    def _way(self, way: str, type_: str, a: str, makes: str) -> str:
        b, name = self._variable(type_), self._next(way)
        is_whole = type_ in ("int", "long")
        x87 = f"f{'i' * is_whole}ld{_LETTERS[type_]} %1;"
        into = f"f{'i' * is_whole}stp{_LETTERS[type_]} %0"
        body = {
            "stack": f"{x87} {into}",
            "fxch": f"{x87} fldz; fxch; fldpi; fxch %%st(1); fstp %%st(1); {into}; fstp %%st(0)",
            "above": f"{x87} fld1; fld %%st(1); fstp %%st(2); fadd %%st, %%st; fstp %%st(0);{into}",
        }.get(way)
        if body is not None:
            self._function(f"void {name}(void)", f'asm("{body}" : "=m"({b}) : "m"({a}));')
            self._main += f"\t{name}();\n"
        elif way == "thread":
            self._functions += f"static __thread volatile {type_} local_{name};\n"
            self._function(f"void {name}(void)", f"local_{name} = {a};")
            self._main += f"\t{name}();\n\t{b} = local_{name};\n"
        elif way == "passes":
            self._function(f"void {name}({type_} v)", f"{b} = v;")
            self._main += f"\t{name}({a});\n"
        elif way == "returns":
            self._function(f"{type_} {name}(void)", f"return {a};")
            self._main += f"\t{b} = {name}();\n"
        elif way == "keeps":
            self._function(f"void {name}(void)", f"{type_} v = {a};\n\tnothing();\n\t{b} = v;")
            self._main += f"\t{name}();\n"
        else:
            # An integer stays the same.  A real number does not: -mfpmath=387 has it in memory.
            by = random.Random(makes).choice(
                ("* one", "/ one") if is_whole else ("* seed", "/ seed")
            )
            self._function(f"{type_} {makes}({type_} v)", f"return v {by};")
            self._main += f"\t{b} = {makes}({a});\n"
        return b

    def _variable(self, type_: str) -> str:
        name = self._next("v")
        self._functions += f"static volatile {type_} {name};\n"
        return name

    def _function(self, head: str, body: str) -> None:
        self._functions += f"APART {head}\n{{\n\t{body}\n}}\n"
        self._main += f"\tscrub({self._count});\n"

    def _next(self, kind: str) -> str:
        self._count += 1
        return f"{kind}_{self._count}"


WAYS = ("stack", "fxch", "above", "thread", "passes", "returns", "keeps", "computes")


def each_way() -> Program:
    """Each way of each type, alone."""
    program = Program()
    for type_ in _TYPES:
        for way in WAYS:
            program.chain(type_, [way])
    return program


def at_random(number: int, chains: int) -> Program:
    """Several ways one after another."""
    chosen, program = random.Random(number), Program()
    for _ in range(chains):
        program.chain(chosen.choice(_TYPES), chosen.choices(WAYS, k=chosen.randint(2, 4)))
    return program
