/* keyctl(2), add_key(2): keys in a new session keyring: read, described, updated, revoked, searched, unlinked. */
#include "../observe.h"
#include <linux/keyctl.h>
#include <stdint.h>
#include <sys/syscall.h>

#define KEYCTL(...) syscall(SYS_keyctl, __VA_ARGS__)

int main(void)
{
	long ring = KEYCTL(KEYCTL_JOIN_SESSION_KEYRING, NULL), key, other;
	char some[256];

	if (ring < 0)
		skip("keyrings");
	key = syscall(SYS_add_key, "user", "observe", "payload", 7, KEY_SPEC_SESSION_KEYRING);
	if (key < 0)
		skip("keys");
	memset(some, 0, sizeof some);
	SAY(KEYCTL(KEYCTL_READ, key, some, sizeof some));
	printf("'%s'\n", some);
	SAY(KEYCTL(KEYCTL_READ, key, some, 3));
	SAY(KEYCTL(KEYCTL_READ, key, NULL, 0));
	SAY(KEYCTL(KEYCTL_DESCRIBE, key, some, sizeof some) > 0);
	printf("%.4s\n", some);
	other = syscall(SYS_add_key, "user", "observe", "newer", 5, KEY_SPEC_SESSION_KEYRING);
	printf("same %d\n", other == key);
	SAY(KEYCTL(KEYCTL_UPDATE, key, "third", 5));
	SAY(KEYCTL(KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user", "observe", 0) == key);
	SAY(syscall(SYS_request_key, "user", "observe", NULL, 0) == key);
	SAY(syscall(SYS_request_key, "user", "nothing like it", NULL, 0));
	uint32_t list[4] = {0};
	SAY(KEYCTL(KEYCTL_READ, KEY_SPEC_SESSION_KEYRING, list, sizeof list));
	printf("listed %d\n", list[0] == key);
	SAY(KEYCTL(KEYCTL_SETPERM, key, 0x3f3f0000));
	SAY(KEYCTL(KEYCTL_SET_TIMEOUT, key, 1000));
	SAY(KEYCTL(KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0) == ring);
	SAY(KEYCTL(KEYCTL_REVOKE, key));
	SAY(KEYCTL(KEYCTL_READ, key, some, sizeof some));
	SAY(KEYCTL(KEYCTL_UNLINK, key, KEY_SPEC_SESSION_KEYRING));
	SAY(syscall(SYS_add_key, "nosuch", "x", "y", 1, KEY_SPEC_SESSION_KEYRING));
	SAY(syscall(SYS_add_key, "user", "x", NULL, 0, KEY_SPEC_SESSION_KEYRING));
	SAY(KEYCTL(999, 0));
	SAY(KEYCTL(KEYCTL_CLEAR, KEY_SPEC_SESSION_KEYRING));
	return 0;
}
