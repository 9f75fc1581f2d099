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

_BYTES = {"int": 4, "long": 8, "float": 4, "double": 8, "long double": 16}
_LONG = ("long", "double")
_WIDE = {"eax": "rax", "edx": "rdx", "l": "q"}
_USED = '"rax", "rcx", "rdx", "rsi", "rdi", "memory", "cc"'
_STRING = "lea %1,%%rsi; lea %0,%%rdi;"
# From %1 to %0.  @A, @D: registers of the type's size, @S: its suffix, @N: its bytes, @L and @P: a
# load and a store with the x87 stack.
_STRINGS = {
    "bytes": f"{_STRING} mov $@N,%%ecx; rep movsb",
    "words": f"{_STRING} mov $@N/2,%%ecx; rep movsw",
    "down": f"{_STRING} add $@N-1,%%rsi; add $@N-1,%%rdi; mov $@N,%%ecx; std; rep movsb; cld",
    "chosen": "@L fldz; xor %%eax,%%eax; fcmove %%st(1),%%st; @P; fstp %%st(0)",
    "unchosen": "fldz; @L xor %%eax,%%eax; fcmovne %%st(1),%%st; @P; fstp %%st(0)",
}
_PARTS = {
    "string": f"{_STRING} movs@S",
    "stos": "mov %1,%%@A; lea %0,%%rdi; stos %%@A,(%%rdi)",
    "lods": "lea %1,%%rsi; lods (%%rsi),%%@A; mov %%@A,%0",
    "push": "mov %1,%%@A; push %%rax; pop %%rdx; mov %%@D,%0",
    "pushes": "pushq %1; pop %%rdx; mov %%@D,%0",
    "taken": "mov %1,%%@A; xor %%edx,%%edx; cmovz %%@A,%%@D; mov %%@D,%0",
    "loaded": "xor %%edx,%%edx; cmovnc %1,%%@D; mov %%@D,%0",
    "left": "mov %1,%%@A; xor %%edx,%%edx; cmovl %%@D,%%@A; mov %%@A,%0",
    "xchg": "mov %1,%%@A; xchg %%@A,%%@D; xchg %%@D,%0",
    "xadd": "xor %%eax,%%eax; xadd %%@A,%1; mov %%@A,%0",
    "bswap": "mov %1,%%@A; bswap %%@A; bswap %%@A; mov %%@A,%0",
    "cmpxchg": "mov %0,%%@A; mov %1,%%@D; cmpxchg %%@D,%0",
    "movnti": "mov %1,%%@A; movnti %%@A,%0",
}
# Of eight bytes.
_EIGHTS = {
    "pop": "pushq %1; popq %0",
    "pop_above": "sub $128,%%rsp; pushq %1; popq 8(%%rsp); mov 8(%%rsp),%%rax; add $128,%%rsp;"
    "mov %%rax,%0",
    "leave": "push %%rbp; pushq %1; mov %%rsp,%%rbp; leave; mov %%rbp,%0; pop %%rbp",
}
# These make another value of it, or a sum.
_OTHERS = {
    "low": "mov %1,%%@A; mov $7,%%al; mov %%@A,%0",
    "high": "mov %1,%%@A; mov %1,%%ah; mov %%@A,%0",
    "fill": "mov %1,%%al; lea %0,%%rsi; lea 1+%0,%%rdi; mov %%al,%0; mov $@N-1,%%ecx; rep movsb",
    "sum": "mov %1,%%@A; xadd %%@A,%0",
}
_INSTRUCTIONS = {**_STRINGS, **_PARTS, **_EIGHTS, **_OTHERS}


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
            if way == "computes" or way in _OTHERS:
                makes = self._next(way)
            last = self._way(way, type_, last, makes)
        self.made[last] = makes

    def _way(self, way: str, type_: str, a: str, makes: str) -> str:
        b, name = self._variable(type_), makes if way in _OTHERS else self._next(way)
        is_whole = type_ in ("int", "long")
        x87 = f"f{'i' * is_whole}ld{_LETTERS[type_]} %1;"
        into = f"f{'i' * is_whole}stp{_LETTERS[type_]} %0"
        body = {
            "stack": f"{x87} {into}",
            "fxch": f"{x87} fldz; fxch; fldpi; fxch %%st(1); fstp %%st(1); {into}; fstp %%st(0)",
            "above": f"{x87} fld1; fld %%st(1); fstp %%st(2); fadd %%st, %%st; fstp %%st(0);{into}",
            **_INSTRUCTIONS,
        }.get(way)
        if body is not None:
            for ours, size in (("A", "eax"), ("D", "edx"), ("S", "l")):
                body = body.replace(f"@{ours}", _WIDE.get(size, size) if type_ in _LONG else size)
            body = body.replace("@N", str(_BYTES[type_])).replace("@L", x87).replace("@P", into)
            self._function(f"void {name}(void)", f'asm("{body}" : "=m"({b}) : "m"({a}) : {_USED});')
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


def each_instruction() -> Program:
    """Each instruction that copies a value of each type, or a part of it, alone."""
    program = Program()
    for type_ in _TYPES:
        for way in _STRINGS if type_ == "long double" else _INSTRUCTIONS:
            if way == "fill" and type_ not in ("int", "long"):
                continue  # they have a zero as their first byte
            if way not in _EIGHTS or type_ in _LONG:
                program.chain(type_, [way])
    return program


def at_random(number: int, chains: int) -> Program:
    """Several ways one after another."""
    chosen, program = random.Random(number), Program()
    for _ in range(chains):
        program.chain(chosen.choice(_TYPES), chosen.choices(WAYS, k=chosen.randint(2, 4)))
    return program
