/* clone3(2): ERRORS: sizes, unknown flags, combinations that make no sense. */
#include "../observe.h"
#include <linux/sched.h>
#include <sys/syscall.h>

int main(void)
{
	struct clone_args a = {.exit_signal = 17};
	struct {
		struct clone_args a;
		char more[64];
	} large = {.more = {[5] = 1}};

	SAY(syscall(SYS_clone3, &a, 8));
	SAY(syscall(SYS_clone3, &large, sizeof(large)));
	SAY(syscall(SYS_clone3, &a, 8192));
	SAY(syscall(SYS_clone3, 8, sizeof(a)));
	a.exit_signal = 100;
	SAY(syscall(SYS_clone3, &a, sizeof(a)));
	a = (struct clone_args){.flags = CLONE_THREAD};
	SAY(syscall(SYS_clone3, &a, sizeof(a)));
	a.flags = CLONE_SIGHAND;
	SAY(syscall(SYS_clone3, &a, sizeof(a)));
	a.flags = CLONE_FS | CLONE_NEWNS;
	SAY(syscall(SYS_clone3, &a, sizeof(a)));
	a.flags = 1ul << 40;
	SAY(syscall(SYS_clone3, &a, sizeof(a)));
	a.flags = CLONE_PARENT;
	a.exit_signal = 17;
	SAY(syscall(SYS_clone3, &a, sizeof(a)));
	a = (struct clone_args){.exit_signal = 17, .stack = 4096};
	SAY(syscall(SYS_clone3, &a, sizeof(a)));
	a = (struct clone_args){.exit_signal = 17, .set_tid = 16, .set_tid_size = 0};
	SAY(syscall(SYS_clone3, &a, sizeof(a)));
	return 0;
}
