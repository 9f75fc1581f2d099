/* seekdir(3): goes back to where telldir was; rewinddir sees new files; a dup of the descriptor shares the position. */
#include "../observe.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

static int count(DIR *list)
{
	int n = 0;
	while (readdir(list))
		n++;
	return n;
}

int main(void)
{
	char name[64], third[256];
	struct dirent *entry;

	MUST(!mkdir("d", 0700));
	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof name, "d/f%d", i);
		MUST(!close(open(name, O_CREAT | O_WRONLY, 0600)));
	}
	DIR *list = opendir("d");
	MUST(list && readdir(list) && readdir(list));
	long place = telldir(list);
	MUST((entry = readdir(list)));
	strcpy(third, entry->d_name);
	SAY(count(list));
	seekdir(list, place);
	MUST((entry = readdir(list)));
	printf("the same: %d\n", !strcmp(third, entry->d_name));
	SAY(count(list));
	MUST(!close(open("d/new", O_CREAT | O_WRONLY, 0600)));
	rewinddir(list);
	SAY(count(list));
	DIR *other = fdopendir(dup(dirfd(list)));
	MUST(other);
	SAY(count(other));
	rewinddir(other);
	SAY(count(other));
	SAY(count(list));
	struct dirent **all;
	int n = scandir("d", &all, NULL, alphasort);
	printf("%d %s %s %s\n", n, all[0]->d_name, all[2]->d_name, all[n - 1]->d_name);
	return 0;
}
