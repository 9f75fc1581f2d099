/* splice(2): where nothing is to be moved, the calls look neither at descriptors nor at offsets. */
#include "../observe.h"
#include <fcntl.h>

int main(void)
{
	loff_t *const bad = (loff_t *)8;

	SAY(splice(1000000, bad, -1, bad, 0, 0));
	SAY(splice(1000000, bad, -1, bad, 1, 0));
	SAY(tee(1000000, -1, 0, 0));
	return 0;
}
