#include "answer/program.h"
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "arch/machine.h"
#include "base/descriptors.h"
#include "base/lower.h"

enum { BY_DESCRIPTOR = 32 };

static char *by_descriptor(int fd, char path[BY_DESCRIPTOR])
{
	snprintf(path, BY_DESCRIPTOR, "/proc/self/fd/%d", fd);
	return path;
}

int program_open(int dir, const char *path, int flags)
{
	char by[BY_DESCRIPTOR];
	struct stat st;
	if (flags & ~(AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW))
		return -EINVAL;
	if (!*path && !(flags & AT_EMPTY_PATH))
		return -ENOENT;
	if (!*path && fcntl(dir, F_GETFD) < 0)
		return dir == AT_FDCWD ? -EACCES : -EBADF; /* a directory cannot be executed */
	const bool named = *path, follows = !(flags & AT_SYMLINK_NOFOLLOW);
	int fd = descriptor_open(dir, named ? path : by_descriptor(dir, by),
				 O_PATH | (named && !follows ? O_NOFOLLOW : 0), 0);
	if (fd < 0)
		return fd;
	int rc = fstat(fd, &st) ? -errno : S_ISLNK(st.st_mode) ? -ELOOP : !S_ISREG(st.st_mode) ? -EACCES : 0;
	if (!rc && access(by_descriptor(fd, by), X_OK))
		rc = -errno;
	if (rc)
		close(fd);
	return rc ? rc : lower_fd(fd);
}

static int find_in(const char *dirs, const char *name)
{
	for (const char *d = dirs; *d;) {
		size_t n = strcspn(d, ":");
		char try[PATH_MAX];
		if ((size_t)snprintf(try, sizeof(try), "%.*s%s%s", (int)n, d, n ? "/" : "", name) < sizeof(try)) {
			int fd = program_open(AT_FDCWD, try, 0);
			if (fd >= 0)
				return fd;
		}
		d += n + (d[n] == ':');
	}
	return -ENOENT;
}

int program_find(const char *name)
{
	const char *dirs = getenv("PATH");
	if (strchr(name, '/'))
		return program_open(AT_FDCWD, name, 0);
	int fd = lower.opt.path ? find_in(lower.opt.path, name) : -ENOENT;
	return fd >= 0 ? fd : find_in(dirs ? dirs : "/bin:/usr/bin", name);
}

int program_path(int fd, char path[4096])
{
	char by[BY_DESCRIPTOR];
	ssize_t len = readlink(by_descriptor(fd, by), path, 4095);
	if (len < 0)
		return -errno;
	path[len] = 0;
	return 0;
}

int program_reopen(int fd)
{
	char by[BY_DESCRIPTOR];
	return descriptor_open(AT_FDCWD, by_descriptor(fd, by), O_RDONLY, 0);
}

static char *skip(char *from, const char *end)
{
	while (from < end && (*from == ' ' || *from == '\t'))
		from++;
	return from;
}

static char *word_end(char *from, const char *end)
{
	while (from < end && *from && *from != ' ' && *from != '\t')
		from++;
	return from;
}

/* load_script() in fs/binfmt_script.c of the kernel */
int program_script(int fd, struct script *s)
{
	memset(s, 0, sizeof(*s));
	int in = program_reopen(fd);
	ssize_t n = in < 0 ? 0 : pread(in, s->line, sizeof(s->line), 0);
	if (in >= 0)
		close(in);
	if (n < 2 || strncmp(s->line, "#!", 2))
		return 0;
	char *begin = s->line + 2, *last = s->line + sizeof(s->line) - 1;
	char *end = memchr(s->line, '\n', strnlen(s->line, sizeof(s->line)));
	if (!end) {
		char *name = skip(begin, last);
		if (name == last || word_end(name, last) == last)
			return -ENOEXEC; /* the name may go on */
		end = last;
	}
	while (end > begin && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	*end = 0;
	s->interp = skip(begin, end);
	char *after = word_end(s->interp, end);
	if (after == s->interp)
		return -ENOEXEC;
	if (*after) {
		s->arg = skip(after, end);
		s->arg = *s->arg ? s->arg : NULL;
	}
	*after = 0;
	return 1;
}

/* elf(5): the program's interpreter must exist, or execve fails */
static int check_elf(int fd)
{
	char interp[4096];
	Elf64_Ehdr eh;
	if (pread(fd, &eh, sizeof(eh), 0) != sizeof(eh) || memcmp(eh.e_ident, ELFMAG, SELFMAG) ||
	    eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_machine != ELF_MACHINE)
		return -ENOEXEC;
	for (unsigned i = 0; i < eh.e_phnum; i++) {
		Elf64_Phdr ph;
		if (pread(fd, &ph, sizeof(ph), (off_t)(eh.e_phoff + i * sizeof(ph))) != sizeof(ph))
			return -ENOEXEC;
		if (ph.p_type != PT_INTERP)
			continue;
		if (ph.p_filesz < 2 || ph.p_filesz > sizeof(interp) ||
		    pread(fd, interp, ph.p_filesz, (off_t)ph.p_offset) != (ssize_t)ph.p_filesz ||
		    interp[ph.p_filesz - 1])
			return -ENOEXEC;
		return access(interp, X_OK) ? -errno : 0;
	}
	return 0;
}

long program_check(int dir, const char *path, char *const *argv, char *const *envp, int flags)
{
	return raw_syscall(SYS_execveat, dir, (long)path, (long)argv, (long)envp, flags | PROGRAM_CHECK, 0);
}

/* execve(2), ETXTBSY: somebody has it open for writing.  Before Linux 6.14 nobody but execve itself can tell. */
static bool is_written(int fd)
{
	char *const words[] = {"", NULL};
	return program_check(fd, "", words, words + 1, AT_EMPTY_PATH) == -ETXTBSY;
}

bool program_can_check(void)
{
	char *const words[] = {"", NULL};
	return !program_check(AT_FDCWD, "/proc/self/exe", words, words + 1, 0);
}

static int can_run(int fd, bool nameless, unsigned depth)
{
	struct script s;
	int rc = is_written(fd) ? -ETXTBSY : program_script(fd, &s);
	if (rc < 0)
		return rc;
	if (rc) {
		if (nameless)
			return -ENOENT;
		int next = program_open(AT_FDCWD, s.interp, 0);
		if (next < 0)
			return next;
		rc = depth == SCRIPTS_NESTED ? -ELOOP : can_run(next, false, depth + 1);
		lower_fd_close(next);
		return rc;
	}
	int in = program_reopen(fd);
	if (in < 0)
		return in == -EACCES ? 0 : in; /* executable but not readable: the kernel can read it */
	rc = check_elf(in);
	close(in);
	return rc;
}

int program_can_run(int fd, bool nameless)
{
	return can_run(fd, nameless, 0);
}
