/* The patches of hot_sites.h, and how they are hidden from a debugger.
 *
 * The instruction before a site's system call, which loads its number, is replaced by a jump to a stub.  The stub
 * carries out that instruction and goes through the gate.  In a replay all system calls come by SIGSYS, and the stub is
 * shortened: jump and stub together then do exactly what the one instruction did.  So a replica's agent takes the two
 * for that instruction: it decodes, steps over and shows the instruction, and never stops inside a stub.  The stubs
 * differ between recording and replay, so they are not hashed.  A program that reads its C library's text finds the
 * jumps in both.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>
#include "space/patches.h"

/* Is uc in a stub or behind it, before the lower half is entered?  Then it is about to make an event. */
bool hot_stubs_leading(const ucontext_t *uc);

/* Replay, when the image is restored: shortens the stubs. 0 or -errno. */
int hot_stubs_shorten(void);
/* A replay that becomes live: restores the stubs as recorded. 0 or -errno. */
int hot_stubs_lengthen(void);

/* The user of a debugger will overwrite these bytes: undoes the sites there, without any change of what they do. */
void hot_sites_restore(uint64_t addr, size_t len);
/* Moves a replica that was interrupted in a stub behind it. */
void hot_stubs_leave(ucontext_t *uc);
