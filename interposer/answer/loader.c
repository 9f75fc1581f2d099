#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "arch/machine.h"
#include "space/arena.h"
#include "crossing/boundary.h"
#include "answer/clock.h"
#include "answer/loader.h"
#include "answer/memory_calls.h"
#include "answer/program.h"
#include "answer/redirect.h"
#include "answer/shown_arguments.h"
#include "answer/stack_limit.h"
#include "base/descriptors.h"

#define DOWN(x) ((x) & ~(RDB_PAGE - 1))
#define UP(x) DOWN((x) + RDB_PAGE - 1)
enum { PHDRS = 64, STACK_DEFAULT = 8 << 20 };

struct object {
	Elf64_Ehdr eh;
	Elf64_Phdr ph[PHDRS];
	uint64_t bias, end;
	char interp[PATH_MAX];
};

static int read_headers(int fd, struct object *o, const char **why)
{
	if (pread(fd, &o->eh, sizeof(o->eh), 0) != (ssize_t)sizeof(o->eh) || memcmp(o->eh.e_ident, ELFMAG, SELFMAG)) {
		*why = "not an ELF program (to run a script, name its interpreter)";
		return -ENOEXEC;
	}
	if (o->eh.e_ident[EI_CLASS] != ELFCLASS64 || o->eh.e_machine != ELF_MACHINE) {
		*why = "a program for another architecture; rdb records " MACHINE " programs";
		return -ENOEXEC;
	}
	if ((o->eh.e_type != ET_EXEC && o->eh.e_type != ET_DYN) || o->eh.e_phnum > PHDRS ||
	    o->eh.e_phentsize != sizeof(Elf64_Phdr)) {
		*why = "not an executable ELF program";
		return -ENOEXEC;
	}
	ssize_t n = (ssize_t)(o->eh.e_phnum * sizeof(Elf64_Phdr));
	if (pread(fd, o->ph, (size_t)n, (off_t)o->eh.e_phoff) != n) {
		*why = "a truncated ELF program";
		return -ENOEXEC;
	}
	for (unsigned i = 0; i < o->eh.e_phnum; i++)
		if (o->ph[i].p_type == PT_INTERP) {
			if (o->ph[i].p_filesz > sizeof(o->interp) ||
			    pread(fd, o->interp, o->ph[i].p_filesz, (off_t)o->ph[i].p_offset) !=
				    (ssize_t)o->ph[i].p_filesz) {
				*why = "a truncated ELF program";
				return -ENOEXEC;
			}
		}
	return 0;
}

static int map_object(int fd, struct object *o, uint64_t base, const char **why)
{
	o->bias = o->eh.e_type == ET_DYN ? base : 0;
	for (unsigned i = 0; i < o->eh.e_phnum; i++) {
		const Elf64_Phdr *p = &o->ph[i];
		char key[160];
		if (p->p_type != PT_LOAD)
			continue;
		uint64_t start = o->bias + p->p_vaddr, file_end = start + p->p_filesz, mem_end = start + p->p_memsz;
		if (!o->bias && (start < RDB_PAGE || mem_end > RDB_LOW_END)) {
			*why = "linked at an address that rdb needs for itself";
			return -ENOEXEC;
		}
		int prot = (p->p_flags & PF_R ? PROT_READ : 0) | (p->p_flags & PF_W ? PROT_WRITE : 0) |
			   (p->p_flags & PF_X ? PROT_EXEC : 0);
		if (p->p_filesz) {
			long rc = memory_map_file(DOWN(start), UP(file_end) - DOWN(start), prot, fd, DOWN(p->p_offset),
						  key);
			if (rc) {
				*why = "cannot be mapped";
				return (int)rc;
			}
		}
		if (mem_end > UP(file_end)) {
			uint64_t from = p->p_filesz ? UP(file_end) : DOWN(start);
			if (mmap((void *)from, UP(mem_end) - from, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
				 0) == MAP_FAILED) {
				*why = "its memory cannot be mapped";
				return -errno;
			}
		}
		/* clear up to the end of the page, as the kernel does: ld.so's first malloc relies on it */
		if (p->p_memsz > p->p_filesz && p->p_filesz && (prot & PROT_WRITE))
			memset((void *)file_end, 0, UP(file_end) - file_end);
		if (mem_end > o->end)
			o->end = mem_end;
	}
	return 0;
}

/* Closes fd, which may be -errno. */
static int load_object(int fd, struct object *o, uint64_t base, const char **why)
{
	if (fd < 0) {
		*why = "cannot be opened";
		return fd;
	}
	int rc = read_headers(fd, o, why);
	if (!rc)
		rc = map_object(fd, o, base, why);
	close(fd);
	return rc;
}

static uint64_t phdr_address(const struct object *o)
{
	for (unsigned i = 0; i < o->eh.e_phnum; i++)
		if (o->ph[i].p_type == PT_PHDR)
			return o->bias + o->ph[i].p_vaddr;
	for (unsigned i = 0; i < o->eh.e_phnum; i++)
		if (o->ph[i].p_type == PT_LOAD && o->ph[i].p_offset <= o->eh.e_phoff &&
		    o->eh.e_phoff < o->ph[i].p_offset + o->ph[i].p_filesz)
			return o->bias + o->ph[i].p_vaddr + (o->eh.e_phoff - o->ph[i].p_offset);
	return 0;
}

static uint64_t push_string(uint64_t *sp, const char *s)
{
	size_t n = strlen(s) + 1;
	*sp -= n;
	memcpy((void *)*sp, s, n);
	return *sp;
}

static size_t count(char **v)
{
	size_t n = 0;
	while (v[n])
		n++;
	return n;
}

static int build_stack(const struct object *prog, uint64_t interp_base, const char *called, char **argv, char **envp,
		       uint64_t *sp_out)
{
	struct rlimit rl = {.rlim_cur = STACK_DEFAULT};
	getrlimit(RLIMIT_STACK, &rl);
	const size_t size = stack_limit_bytes(rl.rlim_cur);
	char *stack = mmap((void *)(RDB_STACK_TOP - size), size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	if (stack == MAP_FAILED)
		return -errno;
	size_t argc = count(argv), envc = count(envp), words;
	uint64_t sp = RDB_STACK_TOP - 8, *table = malloc((argc + envc) * sizeof(*table) + 8);
	if (!table)
		return -ENOMEM;
	uint64_t execfn = push_string(&sp, called);
	lower.upper.strings_end = sp;
	for (size_t i = envc; i-- > 0;)
		table[argc + i] = push_string(&sp, envp[i]);
	lower.upper.variables = sp;
	for (size_t i = argc; i-- > 0;)
		table[i] = push_string(&sp, argv[i]);
	lower.upper.arguments = sp;
	uint64_t platform = push_string(&sp, ELF_PLATFORM);
	sp = (sp - 16) & ~15ul;
	uint64_t random = sp;
	if (getrandom((void *)random, 16, 0) != 16) {
		free(table);
		return -EIO;
	}
	const Elf64_auxv_t aux[] = {
		{AT_SYSINFO_EHDR, {RDB_VDSO}},
		{AT_HWCAP, {getauxval(AT_HWCAP)}},
		{AT_PAGESZ, {RDB_PAGE}},
		{AT_CLKTCK, {100}},
		{AT_PHDR, {phdr_address(prog)}},
		{AT_PHENT, {sizeof(Elf64_Phdr)}},
		{AT_PHNUM, {prog->eh.e_phnum}},
		{AT_BASE, {interp_base}},
		{AT_FLAGS, {0}},
		/* ld.so jumps here when it is done: to the gate's start code, then the program. ld.so run as a program
		 * compares this with its own entry. */
		{AT_ENTRY, {interp_base ? RDB_GATE_CODE + GATE_CODE_START : prog->bias + prog->eh.e_entry}},
		{AT_UID, {getuid()}},
		{AT_EUID, {geteuid()}},
		{AT_GID, {getgid()}},
		{AT_EGID, {getegid()}},
		{AT_SECURE, {0}},
		{AT_RANDOM, {random}},
		{AT_HWCAP2, {getauxval(AT_HWCAP2)}},
		{AT_EXECFN, {execfn}},
		{AT_PLATFORM, {platform}},
		{AT_MINSIGSTKSZ, {getauxval(AT_MINSIGSTKSZ)}},
		{AT_NULL, {0}},
	};
	words = 1 + argc + 1 + envc + 1 + sizeof(aux) / 8;
	sp = (sp - words * 8) & ~15ul;
	uint64_t *w = (uint64_t *)sp;
	*w++ = argc;
	memcpy(w, table, argc * 8);
	w += argc + 1;
	memcpy(w, table + argc, envc * 8);
	w += envc + 1;
	memcpy(w, aux, sizeof(aux));
	lower.upper.auxv_addr = (uint64_t)w;
	lower.upper.auxv_len = sizeof(aux);
	free(table);
	*sp_out = sp;
	return 0;
}

static int map_vdso(void)
{
	char *p = mmap((void *)RDB_VDSO, RDB_PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (p == MAP_FAILED)
		return -errno;
	memcpy(p, vdso_start, (size_t)(vdso_end - vdso_start));
	return mprotect(p, RDB_PAGE, PROT_READ | PROT_EXEC) ? -errno : 0;
}

int loader_load(int program, const char *path, const char *called, char **argv, char **envp, struct loaded *out,
		const char **why)
{
	static struct object prog, interp;
	int rc = load_object(program_reopen(program), &prog, RDB_PROG, why);
	if (rc)
		return rc;
	if (prog.interp[0]) {
		rc = load_object(descriptor_open(AT_FDCWD, prog.interp, O_RDONLY, 0), &interp, RDB_INTERP, why);
		if (rc) {
			*why = "its interpreter (PT_INTERP) cannot be loaded";
			return rc;
		}
		lower.upper.interp_base = interp.bias;
	}
	redirect_program(program);
	strncpy(lower.upper.exe, path, sizeof(lower.upper.exe) - 1);
	lower.upper.entry = prog.bias + prog.eh.e_entry;
	lower.upper.brk = RDB_BRK;
	lower.upper.mmap_next = RDB_MMAP;
	lower.upper.mmap_next_32 = RDB_MMAP_32;
	lower.upper.scratch_end = RDB_SCRATCH;
	*why = "its stack cannot be made";
	rc = map_vdso();
	if (!rc)
		rc = build_stack(&prog, prog.interp[0] ? interp.bias : 0, called, argv, envp, &out->sp);
	if (rc)
		return rc;
	if (recording())
		arguments_show();
	out->pc = prog.interp[0] ? interp.bias + interp.eh.e_entry : RDB_GATE_CODE + GATE_CODE_START;
	return 0;
}
