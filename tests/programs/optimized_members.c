/* A structure of which the compiler keeps some members only, and arrays that are too long to compare. */
#include <unistd.h>

struct parts {
	int kept;
	int gone;
};

int many[300], plane[2][250], cells[150][150];

int main(int argc, char **argv)
{
	struct parts parts = {argc + 4, getpid() % 7 + 1};
	int before = parts.gone + argc;

	(void)argv;
	alarm(before); /* the last use of parts.gone and before */
	alarm(0);
	return parts.kept == 5 ? 0 : 1;
}
