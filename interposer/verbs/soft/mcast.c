/* Multicast groups.  There is no switch that knows the members: each member process has a file beside the job's key,
 * named after the group, its address and its slot.  A sender sends the datagram to each of them.  The file of a process
 * that was killed stays: the sender's connection is refused, or the slot's new process drops the datagram.
 */
#include "mcast.h"
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "conn.h"

enum { MEMBERS = 1024, PATH = 4096 };

static struct member {
	struct hca_qp *qp;
	union ibv_gid group;
} members[MEMBERS];
static unsigned nmembers;

bool hca_is_group(const union ibv_gid *gid)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	/* ff00::/8, or an IPv4 group (224.0.0.0/4) as RoCE's connection manager maps it */
	return gid->raw[0] == 0xff || (!memcmp(gid->raw, mapped, sizeof(mapped)) && gid->raw[12] >> 4 == 0xe);
}

static bool same(const union ibv_gid *a, const union ibv_gid *b)
{
	return !memcmp(a->raw, b->raw, sizeof(a->raw));
}

static bool folder(char *path)
{
	const char *key = hca.above->key_file;
	return key && snprintf(path, PATH, "%s.groups", key) < PATH;
}

static void group_name(const union ibv_gid *gid, char name[33])
{
	for (unsigned i = 0; i < 16; i++)
		snprintf(name + 2ul * i, 3, "%02x", gid->raw[i]);
}

static int open_folder(void)
{
	char path[PATH];
	if (!folder(path))
		return -ENAMETOOLONG;
	if (mkdir(path, 0700) ? errno != EEXIST : chmod(path, 0700)) /* the umask may have cleared bits */
		return -errno;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Makes or removes the file that makes this process a member of the group. */
static int publish(const union ibv_gid *gid, bool in)
{
	char group[33], name[80];
	if (!hca.above->key_file)
		return 0; /* no other process can be in the job */
	group_name(gid, group);
	snprintf(name, sizeof(name), "%s-%08" PRIx32 "-%d", group, hca.gids[0].ip, hca.slot);
	int dir = open_folder();
	if (dir < 0)
		return dir;
	int rc = 0;
	if (in) {
		int fd = openat(dir, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
		rc = fd < 0 ? -errno : 0;
		if (fd >= 0)
			close(fd);
	} else {
		unlinkat(dir, name, 0);
	}
	close(dir);
	return rc;
}

static bool any_of(const union ibv_gid *gid)
{
	for (unsigned i = 0; i < nmembers; i++)
		if (same(&members[i].group, gid))
			return true;
	return false;
}

static struct member *find(const struct hca_qp *qp, const union ibv_gid *gid)
{
	for (unsigned i = 0; i < nmembers; i++)
		if (members[i].qp == qp && same(&members[i].group, gid))
			return &members[i];
	return NULL;
}

int hca_attach_mcast(void *handle, const union ibv_gid *gid, uint16_t lid)
{
	struct hca_qp *qp = handle;
	if (qp->type != IBV_QPT_UD || !hca_is_group(gid))
		return -EINVAL;
	if (find(qp, gid))
		return 0;
	if (nmembers == MEMBERS)
		return -ENOMEM;
	int rc = any_of(gid) ? 0 : publish(gid, true);
	if (rc)
		return rc;
	members[nmembers++] = (struct member){qp, *gid};
	qp->groups++;
	return 0;
}

int hca_detach_mcast(void *handle, const union ibv_gid *gid, uint16_t lid)
{
	struct hca_qp *qp = handle;
	struct member *m = find(qp, gid);
	if (!m)
		return -EINVAL;
	const union ibv_gid group = m->group;
	*m = members[--nmembers];
	qp->groups--;
	return any_of(&group) ? 0 : publish(&group, false);
}

void hca_mcast_stop(void)
{
	for (; nmembers; nmembers--) {
		members[nmembers - 1].qp->groups = 0;
		publish(&members[nmembers - 1].group, false);
	}
}

void hca_mcast_forget(void)
{
	nmembers = 0;
}

void hca_mcast_targets(const union ibv_gid *gid, struct hca_targets *to)
{
	char group[33], rest[40];
	unsigned slot;
	uint32_t ip;
	group_name(gid, group);
	to->n = to->at = 0;
	int fd = open_folder();
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	if (!dir && fd >= 0)
		close(fd);
	while (dir && to->n < HCA_TARGETS && (e = readdir(dir))) {
		if (strncmp(e->d_name, group, 32) ||
		    sscanf(e->d_name + 32, "-%8" SCNx32 "-%u%39s", &ip, &slot, rest) != 2 || slot >= HCA_SLOTS)
			continue;
		to->to[to->n].ip = hca_address_is_local(ip) ? htonl(INADDR_LOOPBACK) : ip;
		to->to[to->n++].port = (uint16_t)(hca.base + slot);
	}
	if (dir)
		closedir(dir);
}

void hca_mcast_each(const union ibv_gid *group, void (*fn)(struct hca_qp *member, void *arg), void *arg)
{
	for (unsigned i = 0; i < nmembers; i++)
		if (same(&members[i].group, group))
			fn(members[i].qp, arg);
}
