/* Which bytes of a file hold instructions.  Some linkers put a program's constants into the same pages. */
#ifndef RDB_TEXT_SECTIONS_H
#define RDB_TEXT_SECTIONS_H
#include <stddef.h>
#include <stdint.h>

/* Calls fn for each stretch of [offset, offset + len) that holds instructions: those of an ELF file with section headers
 * are its sections with SHF_EXECINSTR (System V ABI, chapter 4, "Sections"), those of any other file are all of it. */
void text_sections(int fd, uint64_t offset, size_t len, void (*fn)(uint64_t from, uint64_t to, void *arg), void *arg);

#endif
