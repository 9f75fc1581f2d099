/* unlink(2): entries removed while a folder is read; a removed folder that is open reads as empty or ENOENT. */
#include "../observe.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

int main(void)
{
	char name[64];
	struct dirent *entry;
	int removed = 0;

	MUST(!mkdir("d", 0700));
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof name, "d/%d", i);
		MUST(!close(open(name, O_CREAT | O_WRONLY, 0600)));
	}
	DIR *list = opendir("d");
	MUST(list);
	while ((entry = readdir(list)))
		if (entry->d_name[0] != '.')
			removed += !unlinkat(dirfd(list), entry->d_name, 0);
	SAY(removed);
	rewinddir(list);
	SAY(rmdir("d"));
	rewinddir(list);
	errno = 0;
	entry = readdir(list);
	printf("%s %d\n", entry ? "an entry" : "none", errno);
	SAY(openat(dirfd(list), "x", O_CREAT | O_WRONLY, 0600));
	SAY(mkdirat(dirfd(list), "x", 0700));
	SAY(faccessat(dirfd(list), ".", F_OK, 0));
	SAY(closedir(list));
	return 0;
}
