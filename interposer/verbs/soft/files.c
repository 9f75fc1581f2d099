/* The files that tell of a device: those of the kernel's drivers/infiniband/core/sysfs.c and uverbs_main.c, and the
 * device nodes.  They lie in a folder beside the job's key, named after their contents: processes that write there
 * write the same. */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "../../base/fnv.h"
#include "device.h"

#define DEVICE "sys/class/infiniband/rdb0"
#define PORT DEVICE "/ports/1"
#define UVERBS "sys/class/infiniband_verbs"

static char root[PATH_MAX];
static size_t root_len;

/* Makes the folders of a file below the root; returns the file's path, or NULL. */
static const char *place(const char *name)
{
	static char path[PATH_MAX];
	if (snprintf(path, sizeof(path), "%.*s/%s", (int)root_len, root, name) >= (int)sizeof(path))
		return NULL;
	for (char *slash = path + root_len; slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		const int rc = mkdir(path, 0700) ? errno : 0;
		*slash = '/';
		if (rc && rc != EEXIST)
			return NULL;
	}
	return path;
}

__attribute__((format(printf, 2, 3))) static bool file(const char *name, const char *fmt, ...)
{
	char text[128];
	va_list ap;
	va_start(ap, fmt);
	const int len = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	const char *path = place(name);
	const int fd = path ? open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;
	if (fd < 0)
		return false;
	const bool ok = write(fd, text, (size_t)len) == len;
	close(fd);
	return ok;
}

/* There is no driver behind a node; /dev/null is a character device that can be opened. */
static bool node(const char *name)
{
	const char *path = place(name);
	return path && (!symlink("/dev/null", path) || errno == EEXIST);
}

/* The device below the port, as with soft-RoCE: that of the first address's interface.  One of the loopback has none. */
static bool link_device(void)
{
	char interface[IF_NAMESIZE], below[PATH_MAX], *found;
	const char *path = place(DEVICE "/device");
	if (!path || !if_indextoname(hca.gids[0].ifindex, interface))
		return path;
	snprintf(below, sizeof(below), "/sys/class/net/%s/device", interface);
	found = realpath(below, NULL);
	const bool ok = !found || !symlink(found, path) || errno == EEXIST;
	free(found);
	return ok;
}

static bool guid(const char *name)
{
	const uint64_t n = be64toh(hca_node_guid());
	return file(name, "%04x:%04x:%04x:%04x\n", (unsigned)(n >> 48), (unsigned)(n >> 32) & 0xffff,
		    (unsigned)(n >> 16) & 0xffff, (unsigned)n & 0xffff);
}

static bool gid(unsigned i)
{
	char name[128], text[64] = "", device[IF_NAMESIZE] = "";
	const uint8_t *raw = hca.gids[i].gid.raw;
	for (unsigned at = 0; at < 16; at += 2)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%02x%02x", at ? ":" : "", raw[at],
			 raw[at + 1]);
	if_indextoname(hca.gids[i].ifindex, device);
	snprintf(name, sizeof(name), PORT "/gids/%u", i);
	bool ok = file(name, "%s\n", text);
	snprintf(name, sizeof(name), PORT "/gid_attrs/types/%u", i);
	ok = ok && file(name, "%s\n", hca.lid ? "IB/RoCE v1" : "RoCE v2");
	snprintf(name, sizeof(name), PORT "/gid_attrs/ndevs/%u", i);
	return ok && file(name, "%s\n", device);
}

static bool all_files(void)
{
	struct ibv_device_attr_ex device;
	struct ibv_port_attr port;
	hca_query_device(NULL, &device, sizeof(device));
	hca_query_port(NULL, 1, &port);
	bool ok = file(DEVICE "/fw_ver", "%s\n", device.orig_attr.fw_ver) && file(DEVICE "/node_desc", "rdb0\n") &&
		  file(DEVICE "/node_type", "1: CA\n") && guid(DEVICE "/node_guid") && guid(DEVICE "/sys_image_guid") &&
		  file(PORT "/state", "4: ACTIVE\n") && file(PORT "/phys_state", "5: LinkUp\n") &&
		  file(PORT "/lid", "0x%x\n", port.lid) && file(PORT "/lid_mask_count", "0\n") &&
		  file(PORT "/sm_lid", "0x%x\n", port.sm_lid) && file(PORT "/sm_sl", "0\n") &&
		  file(PORT "/cap_mask", "0x%08x\n", port.port_cap_flags) &&
		  file(PORT "/rate", "100 Gb/sec (4X EDR)\n") && /* active_width and active_speed */
		  file(PORT "/link_layer", "%s\n", hca.lid ? "InfiniBand" : "Ethernet") &&
		  file(PORT "/pkeys/0", "0xffff\n") && file(UVERBS "/abi_version", "6\n") &&
		  file(UVERBS "/uverbs0/abi_version", "1\n") && file(UVERBS "/uverbs0/ibdev", "rdb0\n") &&
		  file(UVERBS "/uverbs0/dev", "231:192\n") && node("dev/infiniband/uverbs0") &&
		  node("dev/infiniband/rdma_cm") && link_device();
	for (unsigned i = 0; i < hca.ngids; i++)
		ok = ok && gid(i);
	return ok;
}

const char *hca_files(void)
{
	static bool made;
	const char *key = hca.above->key_file;
	if (made)
		return root;
	const uint64_t name = fnv1a(fnv1a(FNV_BEGIN, hca.gids, hca.ngids * sizeof(*hca.gids)), &hca.lid,
				    sizeof(hca.lid));
	if (snprintf(root, sizeof(root), "%s.files", key) >= (int)sizeof(root) ||
	    (mkdir(root, 0700) && errno != EEXIST)) {
		hca_warn("software HCA: %s.files: %s", key, strerror(errno));
		return NULL;
	}
	root_len = strlen(root);
	root_len += (size_t)snprintf(root + root_len, sizeof(root) - root_len, "/%016" PRIx64, name);
	made = root_len < sizeof(root) && all_files();
	if (!made)
		hca_warn("software HCA: the files in %s: %s", root, strerror(errno));
	return made ? root : NULL;
}
