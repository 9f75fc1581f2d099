/* Guards pages with watched memory that the processor's own watchpoints cannot hold.
 *
 * While the program runs natively the pages are closed: a store to them (or any access, where reads are watched)
 * faults.  The code that carries out the access opens that one page.  Events open all pages, since the kernel and the
 * lower half could not access them. */
#pragma once
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
/* Opens the closed page at addr if the program's own protection permits the access.  False: not closed, or not
 * permitted. */
bool page_guard_lift(uint64_t addr, bool write);
/* The program's own protection of the page, if the page is in the plan. */
bool page_guard_open_protection(uint64_t addr, int *prot);
/* Do these bytes lie in a page of the plan? */
bool page_guard_touched(uint64_t addr, uint64_t len);
