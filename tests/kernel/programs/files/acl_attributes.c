/* acl(5): an access list in system.posix_acl_access changes the group bits of the mode; a bad one is EINVAL. */
#include "../observe.h"
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/xattr.h>

static const char name[] = "system.posix_acl_access";

int main(void)
{
	struct {
		uint32_t version;
		struct {
			uint16_t tag, permission;
			uint32_t id;
		} entry[5];
	} list = {2, {{1, 6, ~0u}, {2, 7, 65534}, {4, 4, ~0u}, {0x10, 5, ~0u}, {0x20, 0, ~0u}}}, got;
	struct stat s;
	int fd = open("file", O_CREAT | O_RDWR, 0640);

	MUST(fd >= 0);
	if (setxattr("file", name, &list, sizeof list, 0))
		skip("access lists");
	MUST(!stat("file", &s));
	printf("%o\n", s.st_mode & 0777);
	SAY(getxattr("file", name, &got, sizeof got));
	printf("the same: %d\n", !memcmp(&got, &list, sizeof got));
	SAY(chmod("file", 0600));
	SAY(getxattr("file", name, &got, sizeof got));
	printf("mask %d\n", got.entry[3].permission);
	list.version = 7;
	SAY(setxattr("file", name, &list, sizeof list, 0));
	SAY(removexattr("file", name));
	SAY(getxattr("file", name, &got, sizeof got));
	MUST(!stat("file", &s));
	printf("%o\n", s.st_mode & 0777);
	return 0;
}
