/* A site is `mov $NR,%eax` (five bytes) before a syscall instruction, replaced by a jump to its stub:
 *	mov $NR,%eax; lea SYSCALL(%rip),%rcx; movabs $RDB_GATE,%r11; jmp *offset(%r11)
 * In a replay all system calls come by SIGSYS, and the stub is made shorter:
 *	mov $NR,%eax; jmp SYSCALL
 */
#pragma once
#include "text/hot_stubs.h"

enum { HOT_SITE = 5, HOT_STUB = 32 }; /* bytes */

/* Recording: makes the stub at `stub` for the mov at `site`; replaces the mov by a jump to it. */
void hot_stub_make(uint8_t *stub, const uint8_t *site);
void hot_site_redirect(uint8_t *site, const uint8_t *stub);
