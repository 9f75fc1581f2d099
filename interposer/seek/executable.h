/* Where the program may run.  The emulator reads any memory; the processor fetches instructions from executable pages
 * only. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* May the program fetch an instruction there?  Also true of generated text that has not been run yet (made_text.h). */
bool executable(uint64_t pc);
/* Mappings or protections in [start, end) have changed. */
void executable_changed(uint64_t start, uint64_t end);
