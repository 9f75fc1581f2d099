/* Pages in which something is watched that the processor's own watchpoints cannot hold.
 *
 * While the program runs natively they are closed: a store to them (or any access, where reads are
 * watched) faults.  Whoever carries out the access opens the one page for it; events open all, since
 * neither the kernel nor the lower half could get past.
 */
#ifndef RDB_PAGE_GUARD_H
#define RDB_PAGE_GUARD_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Begins a new plan of what to close; all is open. */
void page_guard_begin(void);
/* Adds the pages of a location that are mapped now.  -ENOSPC: too many pieces; -ENOTSUP: pages of
 * code that would have to be closed for reading. */
int page_guard_add(uint64_t addr, uint64_t len, bool reads);
bool page_guard_any(void);

void page_guard_close(void);
void page_guard_open(void);
/* A closed page at addr, where the program itself may do what it wants to: opened.  False: none. */
bool page_guard_lift(uint64_t addr, bool write);
/* What the program may do there, if the page is in the plan. */
bool page_guard_open_protection(uint64_t addr, int *prot);
/* Do these bytes lie in a page of the plan? */
bool page_guard_touched(uint64_t addr, uint64_t len);

#endif
