/* GDB's agent expressions: the conditions of breakpoints (GDB manual, appendix "The GDB Agent
 * Expression Mechanism"). */
#ifndef RDB_BYTECODE_H
#define RDB_BYTECODE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

enum bytecode_error {
	BYTECODE_OK = 0,
	BYTECODE_BAD,      /* malformed, endless, or an operator that conditions do not have */
	BYTECODE_MEMORY,   /* memory that is not there */
	BYTECODE_DIVISION, /* by zero */
};

/* Evaluates; the top of the stack goes to *value.  Registers are those of GDB's amd64-linux target
 * with the features core, sse, linux and segments, in this order. */
enum bytecode_error bytecode_eval(const uint8_t *code, size_t len, const ucontext_t *uc, int64_t *value);

/* A condition holds if it is true, or cannot be evaluated: then the user should see it. */
bool bytecode_holds(const uint8_t *code, size_t len, const ucontext_t *uc);

#endif
