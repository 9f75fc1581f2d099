/* Text that the program itself may write to while patches of ours (int3s, a trampoline) are in it.
 *
 * A patch that was put in early would be lost when a compiler at run time writes there, and taking it out would destroy what
 * has been written.  So such pages are closed for writing, at all their addresses, as long as there are patches in them:
 * a store faults, and all patches in such text are taken out before it is carried out and put in anew after it.  At
 * addresses where the text is not run (a writable mapping of what a compiler makes) a look at it does, too.
 */
#ifndef RDB_TEXT_GUARD_H
#define RDB_TEXT_GUARD_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* May the program store to these bytes, at this or another address? */
bool text_guard_wanted(uint64_t addr, size_t len);
/* Patches are about to be put into these bytes.  True: it may, so they are closed now. */
bool text_guard_close(uint64_t addr, size_t len);
/* Is any closed? */
bool text_guard_any(void);
/* All patches in such text are out. */
void text_guard_open(void);
/* The same, and what is mapped may be something else from here on. */
void text_guard_forget(void);
/* Do these bytes lie in a page that is or was closed, since text_guard_forget()? */
bool text_guard_touched(uint64_t addr, uint64_t len);
/* Do they in one that is closed for reading, too: text at an address where it is not run? */
bool text_guard_hides(uint64_t addr, uint64_t len);

#endif
