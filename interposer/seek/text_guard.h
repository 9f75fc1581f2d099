/* Guards text that the program may write to while patches of ours (int3s, a trampoline) are in it.
 *
 * A compiler at run time that writes there would overwrite a patch, and taking the patch out would destroy what it
 * wrote.  So such pages are closed for writing, at all their addresses, as long as patches are in them.  A store
 * faults; all patches in such text are taken out before it is carried out, and put back after it.  At addresses where
 * the text is not run (a writable mapping of what a compiler makes) reads fault, too. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* May the program store to these bytes, at this or another address? */
bool text_guard_wanted(uint64_t addr, size_t len);
/* Call before putting patches into these bytes.  True: the program may store to them, so their pages are closed now. */
bool text_guard_close(uint64_t addr, size_t len);
/* Is any closed? */
bool text_guard_any(void);
/* Call when all patches in such text are out: opens the pages. */
void text_guard_open(void);
/* The same, and forgets the pages: mappings may change from here on. */
void text_guard_forget(void);
/* The program's own protection of such a page, if it is or was closed since text_guard_forget(). */
bool text_guard_open_protection(uint64_t addr, int *prot);
/* Do these bytes lie in a page that is or was closed, since text_guard_forget()? */
bool text_guard_touched(uint64_t addr, uint64_t len);
/* Do these bytes lie in a page that is closed for reading, too: text at an address where it is not run? */
bool text_guard_hides(uint64_t addr, uint64_t len);
