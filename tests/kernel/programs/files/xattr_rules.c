/* setxattr(2): XATTR_CREATE, XATTR_REPLACE, sizes, name spaces, kinds of file. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

int main(void)
{
	static char big[70000];
	char text[16], name[300];
	int fd = open("file", O_CREAT | O_RDWR, 0600);

	MUST(fd >= 0 && !symlink("file", "link") && !mkfifo("fifo", 0600));
	if (setxattr("file", "user.a", "value", 5, 0))
		skip("extended attributes");
	SAY(setxattr("file", "user.a", "x", 1, XATTR_CREATE));
	SAY(setxattr("file", "user.b", "x", 1, XATTR_REPLACE));
	SAY(setxattr("link", "user.a", "longer value", 12, XATTR_REPLACE));
	SAY(getxattr("file", "user.a", text, 4));
	SAY(getxattr("file", "user.a", NULL, 0));
	SAY(getxattr("file", "user.a", text, sizeof text));
	printf("%.12s\n", text);
	SAY(fsetxattr(fd, "user.empty", NULL, 0, 0));
	SAY(fgetxattr(fd, "user.empty", text, sizeof text));
	SAY(getxattr("file", "user.absent", text, sizeof text));
	SAY(listxattr("file", name, 3));
	printf("%d\n", listxattr("file", NULL, 0) == listxattr("file", name, sizeof name));
	SAY(lsetxattr("link", "user.a", "x", 1, 0));
	SAY(setxattr("fifo", "user.a", "x", 1, 0));
	SAY(setxattr("file", "nospace", "x", 1, 0));
	SAY(setxattr("file", "user.", "x", 1, 0));
	SAY(setxattr("file", "", "x", 1, 0));
	SAY(setxattr("file", "user.big", big, sizeof big, 0));
	memset(name, 'n', sizeof name - 1);
	memcpy(name, "user.", 5);
	name[sizeof name - 1] = 0;
	SAY(setxattr("file", name, "x", 1, 0));
	SAY(removexattr("file", "user.a"));
	SAY(removexattr("file", "user.a"));
	SAY(setxattr("file", "user.a", "x", 1, 4));
	SAY(fgetxattr(99, "user.a", text, 1));
	return 0;
}
