/* getrandom(2): as many bytes as asked for up to 256, never the same; unknown flags are EINVAL. */
#include "../observe.h"
#include <sys/random.h>
#include <sys/syscall.h>

/* The call itself: the function of libc may make the bytes without it (vDSO), with other errors. */
static long asked(void *to, size_t len, unsigned flags)
{
	return syscall(SYS_getrandom, to, len, flags);
}

int main(void)
{
	char a[64], b[64], large[5000], *volatile nowhere = (char *)8;

	SAY(asked(a, 64, 0));
	SAY(asked(b, 64, GRND_NONBLOCK));
	printf("%d\n", !memcmp(a, b, 64));
	SAY(asked(large, sizeof(large), 0));
	SAY(asked(a, 0, 0));
	SAY(asked(a, 10, 0x100));
	SAY(asked(a, 10, GRND_RANDOM | GRND_INSECURE));
	SAY(asked(nowhere, 10, 0));
	SAY(getentropy(large, 257));
	return 0;
}
