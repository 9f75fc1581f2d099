/* Finds the bytes of a file that are instructions.  Some linkers put constants into the same pages. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Calls fn for each stretch of [offset, offset + len) that holds instructions: in an ELF file with section headers, the
 * sections with SHF_EXECINSTR (System V ABI, chapter 4, "Sections"); in any other file, all of it. */
void text_sections(int fd, uint64_t offset, size_t len, void (*fn)(uint64_t from, uint64_t to, void *arg), void *arg);
