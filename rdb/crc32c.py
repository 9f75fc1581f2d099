"""CRC-32C as interposer/base/crc32c.h has it, in Python: for small or rare data."""

from __future__ import annotations

import struct

_POLYNOMIAL = 0x82F63B78  # reflected
_STRIPED = 4096  # CRC32C_STRIPED


def _table() -> list[int]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (_POLYNOMIAL if value & 1 else 0)
        table.append(value)
    return table


_TABLE = _table()


def crc32c(crc: int, data: bytes | memoryview) -> int:
    value = crc ^ 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ _TABLE[(value ^ byte) & 0xFF]
    return value ^ 0xFFFFFFFF


def crc32c_data(crc: int, data: bytes | memoryview) -> int:
    """CRC-32C of data as crc32c_data() of interposer/base/crc32c.h makes it.

    From _STRIPED bytes on, it is the CRC of four quarters' (uninverted) CRCs and of the remaining
    bytes.
    """
    if len(data) < _STRIPED:
        return crc32c(crc, data)
    quarter = len(data) // 32 * 8
    parts = [data[k * quarter : (k + 1) * quarter] for k in range(4)]
    states = [crc32c(0, part) ^ 0xFFFFFFFF for part in parts]
    crc = crc32c(crc, struct.pack("<4Q", *states))
    return crc32c(crc, data[4 * quarter :])
