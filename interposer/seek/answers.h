/* Requests that read or change the stopped program.  Each function sends the reply (seek/channel.h). */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <ucontext.h>

void answer_hello(void);
void answer_array(size_t len);
void answer_lookout(uint64_t number, size_t len);
void answer_seen(void);
void answer_read_memory(uint64_t addr, uint64_t len, uint64_t step);
void answer_write_memory(uint64_t addr, size_t len);
void answer_get_registers(const ucontext_t *uc);
void answer_set_registers(ucontext_t *uc);
void answer_maps(uint64_t from);
void answer_threads(const ucontext_t *uc);
void answer_trace(uint64_t step);
void answer_traced_at(uint64_t before, uint64_t first, uint64_t end, bool inside);
void answer_changes(void);
void answer_output(void);
void answer_question(void);
