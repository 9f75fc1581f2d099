/* Where things live in the address space of a rank.
 *
 * The upper half (the user's program) is confined to [RDB_ARENA, RDB_ARENA_END) plus the linked
 * address of a non-PIE program, and data at the addresses of RDB_CHOSEN; the kernel never places
 * anything there by itself.  All code at or above RDB_ARENA_END belongs to the lower half and may
 * make system calls directly (Syscall User Dispatch,
 * Documentation/admin-guide/syscall-user-dispatch.rst).
 */
#pragma once

#define RDB_PAGE_BYTES 4096
#define RDB_PAGE 4096ul

#define RDB_ARENA 0x101000000000ul          /* first arena address: the gate page */
#define RDB_GATE RDB_ARENA                  /* gate page: not hashed, not in images (gate.h) */
#define RDB_GATE_CODE (RDB_GATE + RDB_PAGE) /* constant code page, read-execute */
/* Offsets in it: the start of a program or thread; the return address of upcalled functions; a jmp *%rcx. */
#define GATE_CODE_START 0
#define GATE_CODE_UPCALL_RETURN 16
#define GATE_CODE_SYSCALL 32
#define RDB_UPCALL_ROOM 256          /* below the stack pointer at the gate, before an upcall's frame */
#define RDB_VDSO 0x101080000000ul    /* the program's vDSO (vdso.S) */
#define RDB_FILTERS 0x101090000000ul /* its filters for system calls (filters.h) */
#define RDB_FILTERS_END 0x1010a0000000ul
#define RDB_SCRATCH 0x101100000000ul /* buffers handed to upcalls (host.h) */
#define RDB_SCRATCH_END 0x101200000000ul
#define RDB_PROG 0x102000000000ul   /* a PIE program */
#define RDB_INTERP 0x103000000000ul /* its PT_INTERP */
#define RDB_BRK 0x104000000000ul    /* heap */
#define RDB_BRK_END 0x108000000000ul
#define RDB_STUBS 0x10fff0000000ul /* stubs of hot system calls (hot_stubs.h): not hashed */
#define RDB_STUBS_END 0x10fff0100000ul
#define RDB_COUNTER_STUBS_LOW \
	0x80000000ul /* stubs of counter reads (counter_sites.h): three areas, each within 2 GB of its code */
#define RDB_COUNTER_STUBS_PROG (RDB_PROG + 0x70000000)
#define RDB_COUNTER_STUBS (RDB_STUBS + 0x80000)
#define RDB_COUNTER_STUBS_BYTES (256ul << 10)
/* Stubs of spins (spin_sites.h): three areas of the same size.  The highest byte of the distance to them is the opcode
 * of an instruction that faults, except in a program that is linked low. */
#define RDB_SPIN_STUBS_LOW (RDB_COUNTER_STUBS_LOW + RDB_COUNTER_STUBS_BYTES)
#define RDB_SPIN_STUBS_PROG (RDB_COUNTER_STUBS_PROG - RDB_COUNTER_STUBS_BYTES)
#define RDB_SPIN_STUBS (RDB_STUBS - RDB_COUNTER_STUBS_BYTES)
#define RDB_MMAP 0x110000000000ul /* mmap, growing upwards; addresses are reused only when it has come to the end */
#define RDB_MMAP_32 0x40000000ul  /* the same for MAP_32BIT */
#define RDB_MMAP_END 0x12f000000000ul
#define RDB_STACK_TOP 0x12fff0000000ul
#define RDB_ARENA_END 0x130000000000ul

#define RDB_LOW_END 0x10000000000ul /* non-PIE programs are linked below this */

/* Addresses above the arena that programs map because they are built for them: the allocators of AddressSanitizer and
 * LeakSanitizer begin at 0x500000000000 or at 0x600000000000.  No code can be there. */
#define RDB_CHOSEN 0x500000000000ul
#define RDB_CHOSEN_END 0x550000000000ul /* a PIE of the lower half may follow */
#define RDB_CHOSEN_2 0x600000000000ul
#define RDB_CHOSEN_2_END 0x680000000000ul
#define RDB_UPPER_END RDB_CHOSEN_2_END

#ifndef __ASSEMBLER__

/* The end of the part of the upper half that holds this address; 0: it is of the lower half. */
static inline unsigned long rdb_upper_end(unsigned long at)
{
	if (at < RDB_ARENA_END)
		return RDB_ARENA_END;
	if (at >= RDB_CHOSEN && at < RDB_CHOSEN_END)
		return RDB_CHOSEN_END;
	return at >= RDB_CHOSEN_2 && at < RDB_CHOSEN_2_END ? RDB_CHOSEN_2_END : 0;
}

/* Is this an address of the upper half? */
#define RDB_IS_UPPER(a) (rdb_upper_end((unsigned long)(a)) != 0)

/* TASK_SIZE_MAX of the kernel: no program has memory from here on that does not ask for it. */
#define RDB_USER_END 0x7ffffffff000ul

/* Is an instruction at this address the program's?  A wild jump of its own may lead behind all code of the lower half. */
#define RDB_RUNS_UPPER(pc) (RDB_IS_UPPER(pc) || (unsigned long)(pc) >= RDB_USER_END)

/* Are all of these? */
static inline int rdb_is_upper_range(unsigned long at, unsigned long len)
{
	const unsigned long end = rdb_upper_end(at);

	return end && len <= end - at;
}

#endif
