/* A kernel that knows more: newer_calls COMMAND...
 * System calls from 990 on are calls that map memory and make descriptors (`meant`), of which only it knows (ptrace(2),
 * PTRACE_EVENT_SECCOMP).  "newer_calls - FILE": the program that makes them. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FIRST = 990, MAP = FIRST, UNMAP, PROTECT, REMAP, MEMORY, PIPE, PAGE = 4096 };
static const long meant[] = {SYS_mmap, SYS_munmap, SYS_mprotect, SYS_mremap, SYS_memfd_create, SYS_pipe2};

static int filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, FIRST, 0, 2),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, PIPE, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(*code), code};
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int kernel(char **command)
{
	struct user_regs_struct regs;
	int status;
	pid_t first = fork();
	if (first == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		if (!filter())
			execv(command[0], command);
		_exit(97);
	}
	if (waitpid(first, &status, 0) != first ||
	    ptrace(PTRACE_SETOPTIONS, first, 0,
		   PTRACE_O_EXITKILL | PTRACE_O_TRACESECCOMP | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
			   PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC) ||
	    ptrace(PTRACE_CONT, first, 0, 0))
		return 96;
	for (pid_t pid; (pid = waitpid(-1, &status, __WALL)) > 0;) {
		if (!WIFSTOPPED(status)) {
			if (pid == first)
				return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
			continue;
		}
		int sig = WSTOPSIG(status), event = status >> 16;
		if (event == PTRACE_EVENT_SECCOMP && !ptrace(PTRACE_GETREGS, pid, 0, &regs)) {
			regs.orig_rax = (unsigned long)meant[regs.orig_rax - FIRST];
			ptrace(PTRACE_SETREGS, pid, 0, &regs);
		}
		ptrace(PTRACE_CONT, pid, 0, event || sig == SIGSTOP ? 0 : sig);
	}
	return 95;
}

static unsigned sum;

static void show(const char *what, const volatile unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sum = sum * 31 + p[i];
	printf("%s: %d %d %08x\n", what, p[0], p[n - 1], sum);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 99;
	if (strcmp(argv[1], "-") != 0)
		return kernel(argv + 1);
	setvbuf(stdout, NULL, _IOLBF, 1 << 12);
	const int both = PROT_READ | PROT_WRITE, anonymous = MAP_PRIVATE | MAP_ANONYMOUS;
	int file = open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0600), ends[2];
	char text[3 * PAGE];
	memset(text, 'f', sizeof(text));
	if (file < 0 || write(file, text, sizeof(text)) != sizeof(text))
		return 98;
	/* where the kernel wants to */
	unsigned char *p = (void *)syscall(MAP, 0L, 3L * PAGE, (long)both, (long)anonymous, -1L, 0L);
	if (p == MAP_FAILED) {
		perror("newer mmap");
		return 2;
	}
	show("new", p, 3 * PAGE);
	p[0] = 1;
	p[3 * PAGE - 1] = 2;
	show("stored", p, 3 * PAGE);
	unsigned char *f = (void *)syscall(MAP, 0L, 3L * PAGE, (long)both, (long)MAP_PRIVATE, (long)file, 0L);
	show("file", f, 3 * PAGE);
	f[PAGE] = 7;
	show("file", f, 3 * PAGE);
	/* over what is there, in part */
	if (syscall(MAP, (long)(p + PAGE), (long)PAGE, (long)PROT_READ, (long)(MAP_PRIVATE | MAP_FIXED), (long)file,
		    0L) != (long)(p + PAGE))
		return 3;
	show("over", p, 3 * PAGE);
	if (syscall(PROTECT, (long)p, (long)PAGE, (long)PROT_READ))
		return 4;
	printf("read only: %d\n", (int)syscall(SYS_read, file, p, 1) + errno);
	if (syscall(UNMAP, (long)(p + PAGE), (long)PAGE))
		return 5;
	printf("unmapped: %d\n", (int)write(file, p + PAGE, 1) + errno);
	show("left", p + 2 * PAGE, PAGE);
	unsigned char *q = (void *)syscall(REMAP, (long)f, 3L * PAGE, 5L * PAGE, (long)MREMAP_MAYMOVE, 0L);
	show("moved", q, 3 * PAGE);
	q[0] = 9;
	/* known calls after it */
	unsigned char *k = mmap(NULL, PAGE, both, anonymous, -1, 0);
	k[0] = 5;
	show("known", k, PAGE);
	if (munmap(p + 2 * PAGE, PAGE) || mprotect(p, PAGE, both))
		return 6;
	p[3] = 4;
	show("known", p, PAGE);
	int memory = (int)syscall(MEMORY, "newer", 0L);
	if (memory < 0 || write(memory, "in memory", 9) != 9 || pread(memory, text, 9, 0) != 9)
		return 7;
	printf("%.9s\n", text);
	if (syscall(PIPE, ends, 0L) || write(ends[1], "through", 7) != 7 || read(ends[0], text, 9) != 7)
		return 8;
	printf("%.7s\n", text);
	getppid();
	close(ends[0]);
	close(ends[1]);
	close(memory);
	getppid();
	show("last", q, 3 * PAGE);
	return 0;
}
