/* rename(2): RENAME_NOREPLACE, RENAME_EXCHANGE, and which files cannot take which place. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/stat.h>

static void make(const char *name)
{
	int fd = open(name, O_CREAT | O_WRONLY, 0600);
	MUST(fd >= 0 && write(fd, name, strlen(name)) > 0 && !close(fd));
}

static void show(const char *name)
{
	char text[16] = "";
	int fd = open(name, O_RDONLY);

	printf("%s: %s\n", name,
	       fd < 0                   ? strerrorname_np(errno)
	       : read(fd, text, 15) < 0 ? strerrorname_np(errno)
					: text);
	close(fd);
}

int main(void)
{
	make("a");
	make("b");
	MUST(!mkdir("dir", 0700) && !mkdir("full", 0700) && !link("a", "same"));
	make("full/c");
	SAY(renameat2(AT_FDCWD, "a", AT_FDCWD, "b", RENAME_NOREPLACE));
	SAY(renameat2(AT_FDCWD, "a", AT_FDCWD, "b", RENAME_EXCHANGE));
	show("a");
	show("b");
	SAY(renameat2(AT_FDCWD, "a", AT_FDCWD, "absent", RENAME_EXCHANGE));
	SAY(renameat2(AT_FDCWD, "a", AT_FDCWD, "full", RENAME_EXCHANGE));
	show("full");
	show("a/c");
	SAY(renameat2(AT_FDCWD, "a", AT_FDCWD, "full", RENAME_EXCHANGE));
	SAY(renameat2(AT_FDCWD, "a", AT_FDCWD, "b", RENAME_EXCHANGE | RENAME_NOREPLACE));
	SAY(renameat2(AT_FDCWD, "a", AT_FDCWD, "b", 64));
	SAY(rename("b", "same"));
	show("b");
	show("same");
	SAY(rename("a", "dir"));
	SAY(rename("dir", "a"));
	SAY(rename("dir", "full"));
	SAY(rename("full", "dir"));
	SAY(rename("dir", "dir/below"));
	SAY(rename("dir", "."));
	SAY(rename("..", "x"));
	SAY(rename("absent", "absent"));
	SAY(rename("a", "/proc/x"));
	SAY(rename("a", "new/"));
	SAY(rename("a", ""));
	return 0;
}
