/* Instructions of the program that access memory which its threads may share. */
#pragma once
#include <stdint.h>

/* Where the functions of a loaded program begin, in order: the table of its .eh_frame_hdr, which is there in stripped
 * programs, too (Linux Standard Base Core 5.0, 10.6.2). */
struct functions {
	uint64_t table; /* its address; entries are relative to `header` */
	uint64_t header;
	uint32_t n;
};

/* Of the program with this auxiliary vector (getauxval(3)).  n is 0: it has no such table, or one in another form than
 * that of today's linkers. */
struct functions functions_of(uint64_t auxv);
/* The first access at or behind `at`, in the function that `at` is in; the stack does not count.  0: there is none. */
uint64_t access_from(const struct functions *f, uint64_t at);
/* The addresses of the functions, but of the last one. */
uint64_t functions_begin(const struct functions *f);
uint64_t functions_end(const struct functions *f);
