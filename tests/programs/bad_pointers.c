/* Each call of the table of inputs that reads strings, with strings that are not there, partly there, or end with the last
 * byte of their page; and what clone3 says to structures that it does not take.  It prints what the kernel says. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct {
	const char *name;
	int number, strings[4];
} calls[] = {
#define CALL(name, ...) {#name, __VA_ARGS__},
#include "bad_pointers.def"
};

static char *pages;

static void say(const char *what, int which, long rc)
{
	printf("%s %d: %s\n", what, which, rc < 0 ? strerrorname_np(errno) : "done");
}

static void strings(void)
{
	char *const bad[] = {NULL, (char *)16, pages + 4096, pages + 4090, (char *)0x7fffffffffff};
	for (unsigned i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		for (int which = 0; which < 5; which++)
			for (int k = 0; k < 4 && calls[i].strings[k] >= 0; k++) {
				long a[6] = {0};
				for (int n = 0; n < 4 && calls[i].strings[n] >= 0; n++)
					a[calls[i].strings[n]] = (long)"/nowhere/at/all";
				a[calls[i].strings[k]] = (long)bad[which];
				say(calls[i].name, 10 * k + which,
				    syscall(calls[i].number, a[0], a[1], a[2], a[3], a[4], a[5]));
			}
	strcpy(pages + 4096 - 5, "/tmp");
	say("the last byte", 0, access(pages + 4096 - 5, F_OK));
}

static void clone3(const char *what, struct clone_args *args, size_t size)
{
	const pid_t child = (pid_t)syscall(SYS_clone3, args, size);
	if (child == 0)
		_exit(0);
	say(what, (int)size, child);
	if (child > 0)
		waitpid(child, NULL, __WALL);
}

static void clones(void)
{
	const uint64_t flags[] = {0,
				  CLONE_THREAD,
				  CLONE_SIGHAND,
				  CLONE_THREAD | CLONE_SIGHAND,
				  CLONE_DETACHED,
				  SIGCHLD,
				  CLONE_NEWNS | CLONE_FS,
				  CLONE_CLEAR_SIGHAND | CLONE_SIGHAND | CLONE_VM,
				  1ull << 40};
	const size_t sizes[] = {0, 8, 63, 64, 72, 80, 88, 96, 4096, 4097, ~0ul};
	struct clone_args *args = (struct clone_args *)pages;
	for (unsigned i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		memset(pages, 0, 4096);
		*args = (struct clone_args){.flags = flags[i], .exit_signal = SIGCHLD};
		for (unsigned k = 0; k < sizeof(sizes) / sizeof(*sizes); k++)
			clone3("clone3", args, sizes[k]);
	}
	*args = (struct clone_args){.exit_signal = SIGCHLD};
	clone3("no structure", (struct clone_args *)16, 88);
	clone3("half of it", (struct clone_args *)(pages + 4096 - 64), 88);
	pages[100] = 1;
	clone3("more than is known", args, 128);
	pages[100] = 0;
	args->exit_signal = 65;
	clone3("no signal", args, 88);
	args->exit_signal = SIGCHLD;
	args->stack = (uint64_t)pages;
	clone3("no stack", args, 88);
	args->stack = 0;
	args->stack_size = 4096;
	clone3("no place of the stack", args, 88);
	args->stack_size = 0;
	args->set_tid_size = 1;
	clone3("no set_tid", args, 88);
	args->set_tid_size = 33;
	clone3("too many set_tid", args, 88);
}

int main(void)
{
	pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(pages + 4096, 4096);
	memset(pages, 'a', 4096);
	setvbuf(stdout, NULL, _IONBF, 0);
	strings();
	clones();
	return 0;
}
