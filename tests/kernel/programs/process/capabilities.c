/* capset(2): who has given up a capability cannot have it again; versions that are not known are told the kernel's. */
#include "../observe.h"
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/syscall.h>

int main(void)
{
	struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct d[2] = {{0}};

	SAY(syscall(SYS_capset, &h, d));
	SAY(syscall(SYS_capget, &h, d));
	printf("%x %x %x\n", d[0].effective, d[0].permitted, d[1].permitted);
	d[0].permitted = 1;
	SAY(syscall(SYS_capset, &h, d));
	h.version = 5;
	SAY(syscall(SYS_capget, &h, NULL));
	printf("%x\n", h.version);
	h.version = 5;
	SAY(syscall(SYS_capget, &h, d));
	h.version = 5;
	SAY(syscall(SYS_capset, &h, d));
	printf("%x\n", h.version);
	/* version 1 has one set, which may end where memory ends */
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(page != MAP_FAILED && !munmap(page + 4096, 4096));
	struct __user_cap_data_struct *last = (struct __user_cap_data_struct *)(page + 4096) - 1;
	h.version = _LINUX_CAPABILITY_VERSION_1;
	SAY(syscall(SYS_capget, &h, last));
	printf("%x %x\n", last->effective, last->permitted);
	h.pid = 1 << 29;
	SAY(syscall(SYS_capget, &h, d));
	return 0;
}
