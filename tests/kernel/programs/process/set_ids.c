/* setresuid(2): -1 leaves an id as it is; who is not privileged may only take one of its own; saved ids. */
#include "../observe.h"
#include <sys/fsuid.h>
#include <sys/types.h>

int main(void)
{
	uid_t r, e, s;

	if (getuid())
		skip("root");
	SAY(setresgid(7, 8, 9));
	SAY(setresuid(-1, 1001, 1002));
	MUST(!getresuid(&r, &e, &s));
	printf("%u %u %u\n", r, e, s);
	SAY(setuid(5));
	SAY(seteuid(1002));
	SAY(geteuid());
	SAY(setresuid(1002, -1, -1));
	SAY(setreuid(-1, 0));
	SAY(setfsuid(-1));
	SAY(setresgid(8, -1, -1));
	SAY(setresgid(77, -1, -1));
	return 0;
}
