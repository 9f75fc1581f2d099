/* keyctl(2): KEYCTL_CAPABILITIES fills the whole buffer, with zeros where it knows of nothing. */
#include "../observe.h"
#include <linux/keyctl.h>
#include <sys/syscall.h>

int main(void)
{
	unsigned char some[64];
	int zeros = 0;

	memset(some, 0xff, sizeof some);
	if (syscall(SYS_keyctl, KEYCTL_CAPABILITIES, some, sizeof some) < 0)
		skip("keyrings");
	for (unsigned i = 0; i < sizeof some; i++)
		zeros += some[i] == 0;
	printf("zeros %d\n", zeros);
	memset(some, 0xff, sizeof some);
	SAY(syscall(SYS_keyctl, KEYCTL_CAPABILITIES, some, 1) >= 1);
	printf("%d\n", some[1]);
	return 0;
}
