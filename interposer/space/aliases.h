/* One page at several addresses, in a replay.
 *
 * Shared memory is private memory in a replay (shared_memory.h), which others can be kept out of and which a fork
 * copies.  But where the program has mapped a page twice, a store through one mapping shows at the other one at once.
 * So an object of which two mappings overlap becomes a memfd here: its shared mappings are shared, and private
 * mappings of it follow it until the program stores there, as mmap(2) has it.  A snapshot of the replica gets
 * copies of its objects.
 */
#ifndef RDB_ALIASES_H
#define RDB_ALIASES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which bytes of which object a mapping shows. */
struct alias {
	uint64_t start, end;
	uint64_t dev, ino, offset; /* dev: alias_dev() */
	bool follows;              /* a private mapping: pages of its own are not the object's */
	bool placed;               /* it is mapped from the object's memfd */
	const uint64_t *own; /* of one that follows, when it is added: nown pairs of start and end of such pages */
	size_t nown;
};

/* Numbers of System V segments are not numbers of files. */
uint64_t alias_dev(uint64_t dev, int kind);

/* What is mapped there shows that object, and its bytes are the object's, but for the pages of its own. */
void aliases_add(const struct alias *a);
/* Does the page of addr, of a mapping that follows and is placed, show its object? */
bool aliases_follows(uint64_t addr);
/* The page of addr, of a mapping that follows, does so again. */
void aliases_drop_own(uint64_t addr);
void aliases_gone(uint64_t start, uint64_t end);

/* Changes with every mapping that may have made or unmade an alias; 0: there never was one. */
extern unsigned aliases_generation;
/* Are there other addresses for a byte of it? */
bool aliases_of(uint64_t addr, uint64_t len);
/* Calls fn for each other part of memory that shows bytes of [addr, addr + len): those that begin `at` bytes after addr.
 * Stops at the first nonzero return and gives it back. */
int aliases_each(uint64_t addr, uint64_t len, int (*fn)(uint64_t alias, uint64_t len, uint64_t at, void *arg),
		 void *arg);
/* The memfd that holds the page of addr; addr is at *offset.  -1: none. */
int aliases_file(uint64_t addr, uint64_t *offset);

/* Before a replica forks: copies of all objects.  After it: the child takes them, the parent gives them up. */
int aliases_before_fork(void);
void aliases_forked(bool child);

#endif
