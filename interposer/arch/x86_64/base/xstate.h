/* The vector state in a signal frame, possibly of another CPU (asm/sigcontext.h; Intel SDM vol. 1, 13.4). */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* SW_BYTES: offset of struct _fpx_sw_bytes, in bytes of FXSAVE that the processor does not use; XSTATE_MAGIC1: its
 * first word.  XMM_AT: offset of the xmm registers. */
enum { XMM_AT = 160, SW_BYTES = 464, SW_LEN = 48, LEGACY = 512, XSTATE_MAGIC1 = 0x46505853 };

/* struct _fpx_sw_bytes: what the kernel says of a frame; without XSAVE as if it said so. */
struct xstate_words {
	uint32_t magic, extended_size; /* with the magic number behind the state */
	uint64_t features;
	uint32_t xstate_size;
};
struct xstate_words xstate_words(const void *frame);

/* Size of the vector state in the frame. */
size_t xstate_len(const void *frame);
/* Copies the state `saved` (that of a signal frame, complete) into the frame at `into`, whose size and features stay
 * the kernel's.  From another kind of CPU only x87, SSE and AVX are copied; the rest is initialised, and PKRU stays. */
void xstate_put(void *into, const void *saved);
/* As a program begins (arch/x86/kernel/fpu/core.c, fpu__clear_user_states); PKRU stays. */
void xstate_clear(void *frame);
