/* kcmp(2): descriptors of one open file are equal, others are ordered. */
#include "../observe.h"
#include <fcntl.h>
#include <linux/kcmp.h>
#include <sys/syscall.h>

int main(void)
{
	pid_t self = getpid();
	int a = open("file", O_CREAT | O_RDWR, 0600), b = dup(a), c = open("file", O_RDWR);

	MUST(a >= 0 && b >= 0 && c >= 0);
	if (syscall(SYS_kcmp, self, self, KCMP_FILE, a, a) < 0)
		skip("kcmp");
	SAY(syscall(SYS_kcmp, self, self, KCMP_FILE, a, b));
	long ab = syscall(SYS_kcmp, self, self, KCMP_FILE, a, c), ba = syscall(SYS_kcmp, self, self, KCMP_FILE, c, a);
	printf("%ld\n", ab + ba);
	SAY(syscall(SYS_kcmp, self, self, KCMP_VM, 0, 0));
	SAY(syscall(SYS_kcmp, self, self, KCMP_FILE, a, 99));
	SAY(syscall(SYS_kcmp, self, self, 77, 0, 0));
	SAY(syscall(SYS_kcmp, self, 1 << 29, KCMP_VM, 0, 0));
	return 0;
}
