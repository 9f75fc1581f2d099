#pragma once
#include <stdbool.h>
#include <stdint.h>

enum { MAP_ONE = 0, MAP_0F = 1, MAP_0F38 = 2, MAP_0F3A = 3 };

struct insn {
	uint8_t bytes[15];
	uint8_t len;
	uint8_t map;     /* opcode map */
	uint8_t op;      /* opcode byte in that map */
	uint8_t op_at;   /* index of that byte */
	uint8_t rex;     /* 0 or 0x40..0x4f */
	uint8_t segment; /* 0, 0x64 fs, 0x65 gs */
	bool opsize, rep, repne, lock, addr32;
	bool vector_prefix; /* VEX or EVEX */
	bool compressed;    /* EVEX: the displacement is scaled by a factor that we do not decode */
	bool has_modrm, memory, rip_relative;
	uint8_t mod, reg, rm;       /* reg and rm with their REX bits */
	uint8_t base, index, scale; /* of a memory operand; 0xff: none */
	int32_t disp;
	int64_t imm;
	bool jumps;  /* may go elsewhere than to the next instruction */
	bool string; /* ins, outs, movs, cmps, stos, lods, scas */
};

/* Size of an integer operand that is not a byte: 2, 4 or 8. */
unsigned decode_size(const struct insn *in);
