/* sysinfo(2): calls that tell about the machine succeed, and refuse bad addresses and values. */
#include "../observe.h"
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <sched.h>

int main(void)
{
	struct sysinfo s;
	unsigned cpu = 9999, node = 9999;

	SAY(sysinfo(&s));
	printf("%d %d\n", s.uptime > 0, s.totalram > s.freeram);
	SAY(sysinfo((void *)8));
	SAY(uname((void *)8));
	SAY(syscall(SYS_getcpu, &cpu, &node, NULL));
	printf("%d\n", cpu < 9999 && node < 9999);
	SAY(syscall(SYS_getcpu, NULL, NULL, NULL));
	SAY(acct("/does/not/exist") == -1);
	SAY(syscall(SYS_ioprio_get, 1, 0) >= 0);
	SAY(syscall(SYS_ioprio_set, 1, 0, 2 << 13 | 5));
	SAY(syscall(SYS_ioprio_get, 1, 0));
	SAY(syscall(SYS_ioprio_set, 1, 0, 7 << 13));
	SAY(syscall(SYS_ioprio_get, 9, 0));
	SAY(syscall(SYS_arch_prctl, 0x9999, 0));
	SAY(syscall(SYS_arch_prctl, 0x1001 /* ARCH_SET_GS */, -1ul << 47));
	SAY(syscall(SYS_arch_prctl, 0x1002 /* ARCH_SET_FS */, (1ul << 47) - 4096));
	SAY(syscall(SYS_set_tid_address, &cpu) == getpid());
	SAY(syscall(SYS_set_robust_list, &cpu, 5));
	return 0;
}
