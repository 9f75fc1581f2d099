/* What hot_sites.h puts over the program's text, and how a debugger is kept from seeing it.
 *
 * A site is `mov $NR,%eax` (five bytes) before a syscall instruction, replaced by a jump to its stub:
 *	mov $NR,%eax; lea SYSCALL(%rip),%rcx; movabs $RDB_GATE,%r11; jmp *offset(%r11)
 * In a replay all system calls come by SIGSYS, and the stub is made shorter:
 *	mov $NR,%eax; jmp SYSCALL
 * Then jump and stub do together exactly what the mov does.  So a replica's agent takes the two for the one mov:
 * that is what it decodes, steps over and shows, and nobody ever stops inside a stub.  The stubs, which differ
 * between recording and replay, are left out of hashes.  The program itself, should it read its C library's
 * text, finds the jumps in both.
 */
#ifndef RDB_HOT_STUBS_H
#define RDB_HOT_STUBS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>
#include "space/patches.h"

enum { HOT_SITE = 5, HOT_STUB = 32 }; /* bytes */

/* Recording: the stub at `stub` for the mov at `site`, which then becomes a jump to it. */
void hot_stub_make(uint8_t *stub, const uint8_t *site);
void hot_site_redirect(uint8_t *site, const uint8_t *stub);
/* uc is in a stub or behind it, before the lower half is entered: about to make an event. */
bool hot_stubs_leading(const ucontext_t *uc);

/* Replay, when the image is restored: 0 or -errno. */
int hot_stubs_shorten(void);
/* A replay that goes on live: as they were recorded. */
int hot_stubs_lengthen(void);

/* These bytes will be written to by somebody who has been shown the mov: sites there are undone, which changes
 * nothing about what they do. */
void hot_sites_restore(uint64_t addr, size_t len);
/* A replica interrupted in a stub stands behind the mov. */
void hot_stubs_leave(ucontext_t *uc);

#endif
