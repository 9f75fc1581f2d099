/* prctl(2), PR_SET_MM: the size of its map is told to anybody; wrong arguments come before missing rights. */
#include "../observe.h"
#include <sys/prctl.h>

int main(void)
{
	unsigned size = 0;

	SAY(prctl(PR_SET_MM, PR_SET_MM_MAP_SIZE, &size, 0, 0));
	printf("%d\n", size == sizeof(struct prctl_mm_map));
	SAY(prctl(PR_SET_MM, PR_SET_MM_MAP_SIZE, NULL, 0, 0));
	SAY(prctl(PR_SET_MM, PR_SET_MM_MAP_SIZE, &size, 0, 1));
	SAY(prctl(PR_SET_MM, PR_SET_MM_ARG_START, &size, 1, 0));
	size = 0;
	SAY(prctl(0x53564d41 /* PR_SET_VMA */, 0, &size, 4096, "not at a page"));
	return 0;
}
