/* getrandom(2): as many bytes as asked for up to 256, never the same; unknown flags are EINVAL. */
#include "../observe.h"
#include <sys/random.h>

int main(void)
{
	char a[64], b[64], large[5000], *volatile nowhere = (char *)8;

	SAY(getrandom(a, 64, 0));
	SAY(getrandom(b, 64, GRND_NONBLOCK));
	printf("%d\n", !memcmp(a, b, 64));
	SAY(getrandom(large, sizeof(large), 0));
	SAY(getrandom(a, 0, 0));
	SAY(getrandom(a, 10, 0x100));
	SAY(getrandom(a, 10, GRND_RANDOM | GRND_INSECURE));
	SAY(getrandom(nowhere, 10, 0));
	SAY(getentropy(large, 257));
	return 0;
}
