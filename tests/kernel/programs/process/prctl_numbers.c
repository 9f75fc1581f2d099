/* prctl(2): attributes that are set are told again; ranges are checked. */
#include "../observe.h"
#include <sys/prctl.h>

int main(void)
{
	char name[17] = "";

	SAY(prctl(PR_SET_NAME, "a name that is too long"));
	SAY(prctl(PR_GET_NAME, name));
	puts(name);
	SAY(prctl(PR_SET_TIMERSLACK, 12345));
	SAY(prctl(PR_GET_TIMERSLACK));
	SAY(prctl(PR_SET_KEEPCAPS, 1));
	SAY(prctl(PR_GET_KEEPCAPS));
	SAY(prctl(PR_SET_KEEPCAPS, 2));
	SAY(prctl(PR_SET_DUMPABLE, 0));
	SAY(prctl(PR_GET_DUMPABLE));
	SAY(prctl(PR_SET_DUMPABLE, 2));
	SAY(prctl(PR_SET_DUMPABLE, 1));
	SAY(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
	SAY(prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0));
	SAY(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	SAY(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
	SAY(prctl(PR_GET_NO_NEW_PRIVS, 0, 1, 0, 0));
	SAY(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0));
	SAY(prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0));
	SAY(prctl(PR_CAPBSET_READ, 0) >= 0);
	SAY(prctl(PR_CAPBSET_READ, 1000));
	SAY(prctl(99999));
	return 0;
}
