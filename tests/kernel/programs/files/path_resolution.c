/* path_resolution(7): at most 40 links; "..", trailing slashes, links in the middle, ENAMETOOLONG, ENOTDIR. */
#include "../observe.h"
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

int main(void)
{
	static char name[PATH_MAX + 10];
	char to[16], from[16];
	struct stat status;

	MUST(!mkdir("dir", 0700) && !close(open("dir/file", O_CREAT | O_WRONLY, 0600)) && !symlink("dir", "l0"));
	for (int i = 1; i < 42; i++) {
		snprintf(to, sizeof to, "l%d", i - 1);
		snprintf(from, sizeof from, "l%d", i);
		MUST(!symlink(to, from));
	}
	SAY(access("l39/file", F_OK));
	SAY(access("l40/file", F_OK));
	MUST(!symlink("loop", "loop"));
	SAY(stat("loop", &status));
	SAY(lstat("loop", &status));
	SAY(lstat("loop/", &status));
	SAY(access("dir/file/", F_OK));
	SAY(access("dir/file/..", F_OK));
	SAY(access("dir//./file", F_OK));
	SAY(access("l0/../dir", F_OK));
	SAY(access("/../..//proc/../../", F_OK));
	SAY(access("", F_OK));
	SAY(lstat("l0/", &status));
	printf("%d\n", S_ISDIR(status.st_mode));
	SAY(unlink("l0/"));
	SAY(rmdir("l0"));
	SAY(rmdir("l0/"));
	memset(name, 'n', NAME_MAX + 1);
	SAY(access(name, F_OK));
	name[NAME_MAX] = 0;
	SAY(access(name, F_OK));
	for (int i = 0; i < PATH_MAX; i++)
		name[i] = i % 2 ? '/' : '.';
	name[PATH_MAX - 1] = 0;
	SAY(access(name, F_OK));
	name[PATH_MAX - 1] = '/';
	SAY(access(name, F_OK));
	memset(name, 's', PATH_MAX);
	name[PATH_MAX - 1] = 0;
	SAY(symlink(name, "long"));
	SAY(symlink("", "empty"));
	return 0;
}
