"""Registers in the order of GDB's amd64-linux-avx description, and that description (target.xml).

The register numbers in `p`, `P` and stop replies follow the order of `target.xml`; `g` is the
concatenation of all registers.  Vector and x87 state is in an XSAVE area in the standard format
(Intel SDM, volume 1, 13.4).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

GENERAL = (
    *("rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp"),
    *("r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"),
)
_FLAGS = ("eflags", "cs", "ss", "ds", "es", "fs", "gs")
_CONTROL = ("fctrl", "fstat", "ftag", "fiseg", "fioff", "foseg", "fooff", "fop")
_XSTATE_X87, _XSTATE_SSE, _XSTATE_AVX = 1, 2, 4
_XSTATE_BV = 512
_AVX = 576
#: Bytes of an XSAVE area with x87, SSE and AVX state.
XSAVE_BYTES = 832


@dataclass(frozen=True)
class Register:
    name: str
    size: int
    kind: str  # gpr, st, control, xmm, mxcsr, ymmh
    index: int = 0


def _layout() -> Iterator[Register]:
    for name in (*GENERAL, "rip"):
        yield Register(name, 8, "gpr")
    for name in _FLAGS:
        yield Register(name, 4, "gpr")
    for index in range(8):
        yield Register(f"st{index}", 10, "st", index)
    for index, name in enumerate(_CONTROL):
        yield Register(name, 4, "control", index)
    for index in range(16):
        yield Register(f"xmm{index}", 16, "xmm", index)
    yield Register("mxcsr", 4, "mxcsr")
    yield Register("orig_rax", 8, "gpr")
    yield Register("fs_base", 8, "gpr")
    yield Register("gs_base", 8, "gpr")
    for index in range(16):
        yield Register(f"ymm{index}h", 16, "ymmh", index)


REGISTERS = tuple(_layout())
NUMBERS = {register.name: number for number, register in enumerate(REGISTERS)}


class RegisterFile:
    """One set of registers.  `read` and `write` take GDB's register numbers; `write` raises
    ValueError for a value of another size."""

    def __init__(self, general: dict[str, int], xsave: bytes) -> None:
        self.general = general
        self.xsave = bytearray(xsave)
        if len(self.xsave) < XSAVE_BYTES:
            self.xsave.extend(bytes(XSAVE_BYTES - len(self.xsave)))
        self._initialise_unused()

    def _initialise_unused(self) -> None:
        """Stores the initial values of components that XSTATE_BV marks as unused (SDM, volume 1,
        13.6)."""
        (used,) = struct.unpack_from("<Q", self.xsave, _XSTATE_BV)
        if not used & _XSTATE_X87:
            self.xsave[0:24] = struct.pack("<HHBBHQQ", 0x37F, 0, 0, 0, 0, 0, 0)
            self.xsave[32:160] = bytes(128)
        if not used & _XSTATE_SSE:
            self.xsave[160:416] = bytes(256)
            if not used & _XSTATE_AVX and self.xsave[24:28] == bytes(4):
                struct.pack_into("<I", self.xsave, 24, 0x1F80)
        if not used & _XSTATE_AVX:
            self.xsave[_AVX : _AVX + 256] = bytes(256)

    def all(self) -> bytes:
        return b"".join(self.read(number) for number in range(len(REGISTERS)))

    def write_all(self, data: bytes) -> None:
        offset = 0
        for number, register in enumerate(REGISTERS):
            value = data[offset : offset + register.size]
            if len(value) < register.size:
                return
            if value != self.read(number):
                self.write(number, value)
            offset += register.size

    def read(self, number: int) -> bytes:
        register = REGISTERS[number]
        if register.kind == "gpr":
            mask = (1 << 8 * register.size) - 1
            return (self.general[register.name] & mask).to_bytes(register.size, "little")
        if register.kind == "control":
            return self._control(register.index).to_bytes(4, "little")
        offset = _offset(register)
        return bytes(self.xsave[offset : offset + register.size])

    def write(self, number: int, value: bytes) -> None:
        register = REGISTERS[number]
        if len(value) != register.size:
            raise ValueError(f"{register.name} has {register.size} bytes, not {len(value)}")
        if register.kind == "gpr":
            self.general[register.name] = int.from_bytes(value, "little")
            return
        (used,) = struct.unpack_from("<Q", self.xsave, _XSTATE_BV)
        used |= {"xmm": _XSTATE_SSE, "mxcsr": _XSTATE_SSE, "ymmh": _XSTATE_AVX}.get(
            register.kind, _XSTATE_X87
        )
        struct.pack_into("<Q", self.xsave, _XSTATE_BV, used)
        if register.kind == "control":
            self._set_control(register.index, int.from_bytes(value, "little"))
        else:
            offset = _offset(register)
            self.xsave[offset : offset + register.size] = value

    def _control(self, index: int) -> int:
        fcw, fsw, ftw, _, fop, fip, fdp = struct.unpack_from("<HHBBHQQ", self.xsave)
        tags = self._full_tags(ftw, fsw)
        return (
            *(fcw, fsw, tags, (fip >> 32) & 0xFFFF, fip & 0xFFFFFFFF),
            *((fdp >> 32) & 0xFFFF, fdp & 0xFFFFFFFF, fop),
        )[index]

    def _set_control(self, index: int, value: int) -> None:
        fcw, fsw, ftw, pad, fop, fip, fdp = struct.unpack_from("<HHBBHQQ", self.xsave)
        name = _CONTROL[index]
        if name == "fctrl":
            fcw = value & 0xFFFF
        elif name == "fstat":
            fsw = value & 0xFFFF
        elif name == "ftag":
            ftw = sum(1 << i for i in range(8) if (value >> 2 * i) & 3 != 3)
        elif name == "fiseg":
            fip = (fip & 0xFFFFFFFF) | (value & 0xFFFF) << 32
        elif name == "fioff":
            fip = (fip & ~0xFFFFFFFF) | value
        elif name == "foseg":
            fdp = (fdp & 0xFFFFFFFF) | (value & 0xFFFF) << 32
        elif name == "fooff":
            fdp = (fdp & ~0xFFFFFFFF) | value
        else:
            fop = value & 0x7FF
        struct.pack_into("<HHBBHQQ", self.xsave, 0, fcw, fsw, ftw, pad, fop, fip, fdp)

    def _full_tags(self, abridged: int, status: int) -> int:
        """The x87 tag word with two bits a register, as FNSTENV stores it (SDM, volume 1,
        8.1.7)."""
        top = (status >> 11) & 7
        tags = 0
        for physical in range(8):
            tag = 3
            if abridged & 1 << physical:
                at = 32 + 16 * ((physical - top) % 8)
                mantissa, sign_exponent = struct.unpack_from("<QH", self.xsave, at)
                exponent = sign_exponent & 0x7FFF
                if exponent == 0x7FFF or (exponent and not mantissa >> 63):
                    tag = 2
                elif exponent:
                    tag = 0
                else:
                    tag = 2 if mantissa else 1
            tags |= tag << 2 * physical
        return tags


def _offset(register: Register) -> int:
    base, stride = {"st": (32, 16), "xmm": (160, 16), "mxcsr": (24, 0), "ymmh": (_AVX, 16)}[
        register.kind
    ]
    return base + stride * register.index


def _feature(name: str, first: str, last: str, body: str = "") -> str:
    names = REGISTERS[NUMBERS[first] : NUMBERS[last] + 1]
    regs = "".join(_reg(register) for register in names)
    return f'<feature name="org.gnu.gdb.i386.{name}">{body}{regs}</feature>'


def _reg(register: Register) -> str:
    kind, group = {
        "rip": ("code_ptr", ""),
        "rsp": ("data_ptr", ""),
        "rbp": ("data_ptr", ""),
        "eflags": ("i386_eflags", ""),
        "mxcsr": ("i386_mxcsr", "vector"),
        "orig_rax": ("int", "system"),
    }.get(register.name, ("", ""))
    if not kind:
        kind = {"st": "i387_ext", "control": "int", "xmm": "vec128", "ymmh": "uint128"}.get(
            register.kind, "int64" if register.size == 8 else "int32"
        )
    if register.kind == "control":
        group = "float"
    extra = f' group="{group}"' if group else ""
    if register.name in ("fs_base", "gs_base"):
        kind = "int"
    return f'<reg name="{register.name}" bitsize="{8 * register.size}" type="{kind}"{extra}/>'


_EFLAGS = (
    '<flags id="i386_eflags" size="4">'
    + "".join(
        f'<field name="{name}" start="{bit}" end="{bit}"/>'
        for bit, name in (
            *((0, "CF"), (1, ""), (2, "PF"), (4, "AF"), (6, "ZF"), (7, "SF"), (8, "TF"), (9, "IF")),
            *((10, "DF"), (11, "OF"), (14, "NT"), (16, "RF"), (17, "VM"), (18, "AC"), (19, "VIF")),
            *((20, "VIP"), (21, "ID")),
        )
    )
    + "</flags>"
)
_MXCSR = (
    '<flags id="i386_mxcsr" size="4">'
    + "".join(
        f'<field name="{name}" start="{bit}" end="{bit}"/>'
        for bit, name in (
            *((0, "IE"), (1, "DE"), (2, "ZE"), (3, "OE"), (4, "UE"), (5, "PE"), (6, "DAZ")),
            *((7, "IM"), (8, "DM"), (9, "ZM"), (10, "OM"), (11, "UM"), (12, "PM"), (15, "FZ")),
        )
    )
    + "</flags>"
)
_VECTORS = (
    '<vector id="v8bf16" type="bfloat16" count="8"/><vector id="v4f" type="ieee_single" count="4"/>'
    '<vector id="v2d" type="ieee_double" count="2"/><vector id="v16i8" type="int8" count="16"/>'
    '<vector id="v8i16" type="int16" count="8"/><vector id="v4i32" type="int32" count="4"/>'
    '<vector id="v2i64" type="int64" count="2"/><union id="vec128">'
    '<field name="v8_bfloat16" type="v8bf16"/><field name="v4_float" type="v4f"/>'
    '<field name="v2_double" type="v2d"/><field name="v16_int8" type="v16i8"/>'
    '<field name="v8_int16" type="v8i16"/><field name="v4_int32" type="v4i32"/>'
    '<field name="v2_int64" type="v2i64"/><field name="uint128" type="uint128"/></union>'
)

TARGET_XML = (
    '<?xml version="1.0"?><!DOCTYPE target SYSTEM "gdb-target.dtd"><target>'
    "<architecture>i386:x86-64</architecture><osabi>GNU/Linux</osabi>"
    + _feature("core", "rax", "fop", _EFLAGS)
    + _feature("sse", "xmm0", "mxcsr", _VECTORS + _MXCSR)
    + _feature("linux", "orig_rax", "orig_rax")
    + _feature("segments", "fs_base", "gs_base")
    + _feature("avx", "ymm0h", "ymm15h")
    + "</target>"
)
