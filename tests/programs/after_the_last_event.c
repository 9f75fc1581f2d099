/* What happens after the last system call: x changes three times. */
#include <unistd.h>

int x;

int main(void)
{
	if (write(1, "a\n", 2) != 2)
		return 1;
	x = 1;
	x = 2; /* @second */
	x = 3;
	_exit(0);
}
