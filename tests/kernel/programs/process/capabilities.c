/* capset(2): who has given up a capability cannot have it again; versions that are not known are told the kernel's. */
#include "../observe.h"
#include <linux/capability.h>
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
	h.pid = 1 << 29;
	SAY(syscall(SYS_capget, &h, d));
	return 0;
}
