/* One page at several addresses, in a replay.
 *
 * A replay has private memory in place of shared memory (shared_memory.h): no other process can write to it, and a fork
 * copies it.  But if the program has mapped a page twice, a store through one mapping must show at the other at once.
 * So an object with two overlapping mappings becomes a memfd: its shared mappings are shared, and its private mappings
 * follow it until the program stores there, as in mmap(2).  A snapshot of the replica gets copies of its objects.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes of an object that a mapping shows. */
struct alias {
	uint64_t start, end;
	uint64_t dev, ino, offset; /* dev: alias_dev() */
	bool follows;              /* a private mapping: its own pages are not the object's */
	bool placed;               /* mapped from the object's memfd */
	bool fresh;                /* when added: a single mapping, readable and writable */
	bool empty;                /* when added: it has no bytes of its own, if other mappings show them all */
	const uint64_t *own;       /* when added, if it follows: nown pairs of start and end of its own pages */
	size_t nown;
};

/* Tells ids of System V segments from inode numbers. */
uint64_t alias_dev(uint64_t dev, int kind);

/* Adds a mapping.  Its bytes become the object's, except its own pages. */
void aliases_add(const struct alias *a);
/* Does the page of addr belong to a placed mapping that follows, and does it still show the object? */
bool aliases_follows(uint64_t addr);
/* Makes the page of addr, of a mapping that follows, show the object again. */
void aliases_drop_own(uint64_t addr);
/* Which of n pages of a private mapping has the program stored to, so that they are no more those of the file? */
void aliases_own_pages(uint64_t at, size_t n, bool *own);
void aliases_gone(uint64_t start, uint64_t end);

/* Changes with every mapping that may add or remove an alias; 0: there never was one. */
extern unsigned aliases_generation;
/* Does any of these bytes have another address? */
bool aliases_of(uint64_t addr, uint64_t len);
/* Calls fn for each other range of memory that shows bytes of [addr, addr + len); the range shows those from addr +
 * `at` on.  Stops at the first nonzero return and returns it. */
int aliases_each(uint64_t addr, uint64_t len, int (*fn)(uint64_t alias, uint64_t len, uint64_t at, void *arg),
		 void *arg);
/* The memfd with the page of addr, and the offset of addr in it; -1: none. */
int aliases_file(uint64_t addr, uint64_t *offset);

/* Call before a replica forks, to copy all objects; after it, the child takes the copies and the parent drops them. */
int aliases_before_fork(void);
void aliases_forked(bool child);
