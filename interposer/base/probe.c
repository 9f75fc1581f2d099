/* rdb-exec --probe: prints what this machine can do as one JSON line. */
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "arch/probes.h"
#include "base/cpu_features.h"
#include "interface/layout.h"
#include "base/pagemap_scan.h"
#include "base/probe.h"
#include "base/seccomp.h"

/* linux/userfaultfd.h of 6.7; older headers lack them */
enum { UFFD_WP_UNPOPULATED = 1 << 13, UFFD_WP_ASYNC = 1 << 15 };

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

/* Does userfaultfd exist with these features? */
static bool fault_descriptor(uint64_t features)
{
	struct uffdio_api api = {.api = UFFD_API, .features = features};
	long fd = syscall(SYS_userfaultfd, O_CLOEXEC | 1 /* UFFD_USER_MODE_ONLY */);
	if (fd < 0)
		return false;
	bool ok = ioctl((int)fd, UFFDIO_API, &api) == 0;
	close((int)fd);
	return ok;
}

static bool pagemap_scan(void)
{
	int fd = open("/proc/thread-self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t here = (uint64_t)&fd & ~(RDB_PAGE - 1);
	struct scan arg = {.size = sizeof(arg), .start = here, .end = here + RDB_PAGE};
	bool ok = fd >= 0 && ioctl(fd, SCAN, &arg) >= 0;
	if (fd >= 0)
		close(fd);
	return ok;
}

/* proc(5), /proc/pid/pagemap: bit 55 is set for a page just written to, if the kernel supports soft-dirty bits */
static bool soft_dirty(void)
{
	uint64_t entry = 0;
	volatile char *page = mmap(NULL, RDB_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = open("/proc/thread-self/pagemap", O_RDONLY | O_CLOEXEC);
	if (page == MAP_FAILED || fd < 0)
		return false;
	*page = 1;
	bool ok = pread(fd, &entry, 8, (off_t)((uint64_t)page / RDB_PAGE * 8)) == 8 && (entry >> 55 & 1);
	close(fd);
	munmap((void *)page, RDB_PAGE);
	return ok;
}

int probe_print(void)
{
	const struct {
		const char *name;
		bool there;
	} abilities[] = {
		{"sud", probe_dispatch()},
		{"seccomp", seccomp_possible()},
		{"perf_breakpoints", perf_breakpoint()},
		{"userfaultfd", fault_descriptor(0)},
		{"userfaultfd_wp_async", fault_descriptor(UFFD_WP_ASYNC | UFFD_WP_UNPOPULATED)},
		{"pagemap_scan", pagemap_scan()},
		{"soft_dirty", soft_dirty()},
	};
	char cpu[CPU_TEXT];
	cpu_describe(cpu);
	printf("{");
	for (unsigned i = 0; i < sizeof(abilities) / sizeof(*abilities); i++)
		printf("\"%s\":%s,", abilities[i].name, abilities[i].there ? "true" : "false");
	for (const struct arch_probe *p = arch_probes; p->name; p++)
		printf("\"%s\":%s,", p->name, p->there() ? "true" : "false");
	printf("\"cpu\":%s}\n", cpu);
	return 0;
}
