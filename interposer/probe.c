/* rdb-exec --probe: what this machine can do, one JSON line. */
#include <asm/prctl.h>
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "probe.h"

static bool perf_breakpoint(void)
{
	static uint64_t target;
	struct perf_event_attr a;
	memset(&a, 0, sizeof(a));
	a.type = PERF_TYPE_BREAKPOINT;
	a.size = sizeof(a);
	a.bp_type = HW_BREAKPOINT_W;
	a.bp_addr = (uint64_t)&target;
	a.bp_len = HW_BREAKPOINT_LEN_8;
	a.sample_period = 1;
	a.exclude_kernel = a.exclude_hv = 1;
	a.remove_on_exec = 1;
	a.sigtrap = 1;
	long fd = syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
	if (fd >= 0)
		close((int)fd);
	return fd >= 0;
}

bool probe_dispatch(void)
{
	return prctl(59 /* PR_SET_SYSCALL_USER_DISPATCH */, 0, 0, 0, 0) == 0;
}

bool probe_fsgsbase(void)
{
	return getauxval(AT_HWCAP2) & 2; /* HWCAP2_FSGSBASE */
}

int probe_print(void)
{
	bool cpuid = syscall(SYS_arch_prctl, ARCH_SET_CPUID, 1) == 0;
	long uffd = syscall(SYS_userfaultfd, 1 /* UFFD_USER_MODE_ONLY */);
	if (uffd >= 0)
		close((int)uffd);
	printf("{\"sud\":%s,\"fsgsbase\":%s,\"perf_breakpoints\":%s,\"cpuid_faulting\":%s,\"userfaultfd\":%s}\n",
	       probe_dispatch() ? "true" : "false", probe_fsgsbase() ? "true" : "false",
	       perf_breakpoint() ? "true" : "false", cpuid ? "true" : "false", uffd >= 0 ? "true" : "false");
	return 0;
}
