/* GDB's agent expressions: the conditions of breakpoints (GDB manual, appendix "The GDB Agent
 * Expression Mechanism"). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

/* A condition holds if it is true, or cannot be evaluated (or is endless): then the user should see it.  Registers are
 * those of GDB's amd64-linux target with the features core, sse, linux and segments, in this order. */
bool bytecode_holds(const uint8_t *code, size_t len, const ucontext_t *uc);
