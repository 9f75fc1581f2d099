/* execve(2): ERRORS leave the program as it is. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/stat.h>

int main(void)
{
	char *none[] = {NULL}, *volatile nowhere = (char *)8;

	MUST(!mkdir("folder", 0700) && mknod("plain", S_IFREG | 0600, 0) == 0 && !symlink("loop", "loop"));
	SAY(execve("missing", none, none));
	SAY(execve("folder", none, none));
	SAY(execve("plain", none, none));
	SAY(execve("plain/x", none, none));
	SAY(execve("loop", none, none));
	SAY(execve("", none, none));
	SAY(execve(nowhere, none, none));
	MUST(!chmod("plain", 0700));
	SAY(execve("./plain", (char **)nowhere, none));
	SAY(execveat(77, "x", none, none, 0));
	SAY(execveat(AT_FDCWD, "", none, none, AT_EMPTY_PATH));
	SAY(execveat(AT_FDCWD, "loop", none, none, AT_SYMLINK_NOFOLLOW));
	SAY(execveat(AT_FDCWD, "plain", none, none, 1));
	return 0;
}
