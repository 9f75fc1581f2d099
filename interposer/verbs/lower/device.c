/* Devices, contexts and queries. */
#include <fcntl.h>
#include <unistd.h>
#include "plugin.h"
#include "synthetic_completions.h"

enum { DEVICES = 64 };

int descriptor_shown(int fd)
{
	int shown = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return shown < 0 ? -errno : shown;
}

int64_t verbs_devices(const uint64_t *a)
{
	struct verbs_device list[DEVICES];
	if (!provider) /* as rdma-core on a kernel without verbs */
		return access("/sys/class/infiniband_verbs/abi_version", F_OK) ? -ENOSYS : 0;
	unsigned room = a[1] < DEVICES ? (unsigned)a[1] : DEVICES;
	memset(list, 0, sizeof(list));
	int n = provider->devices(list, room);
	if (n > 0)
		put(a[0], list, (unsigned)n * sizeof(*list));
	return n;
}

int64_t verbs_fork(const uint64_t *a)
{
	return provider ? provider->fork_status(a[0]) : IBV_FORK_UNNEEDED;
}

int64_t verbs_open(const uint64_t *a)
{
	struct object made = {.kind = CONTEXT, .cookie = a[1], .made.context.device = (unsigned)a[0]};
	int async_fd = -1, vectors = 0;
	int rc = provider ? provider->open((unsigned)a[0], &made.handle, &async_fd, &vectors) : -ENODEV;
	if (rc)
		return rc;
	struct ibv_device_attr_ex attr;
	memset(&attr, 0, sizeof(attr));
	provider->query_device(made.handle, &attr, sizeof(attr));
	struct verbs_opened opened = {descriptor_shown(async_fd), vectors, attr.max_dm_size, attr.hca_core_clock};
	if (opened.async_fd < 0) {
		provider->close(made.handle);
		return opened.async_fd;
	}
	made.made.context.shown_fd = opened.async_fd;
	put(a[2], &opened, sizeof(opened));
	return object_made(0, &made);
}

/* Closing a real device destroys all objects that were made of it. */
int64_t verbs_close(const uint64_t *a)
{
	FIND(context, a[0], CONTEXT);
	objects_destroy_of(context);
	int fd = context->made.context.shown_fd;
	int64_t rc = object_destroy(a[0], CONTEXT, provider->close);
	if (!rc)
		close(fd);
	return rc;
}

int64_t verbs_query_device(const uint64_t *a)
{
	struct ibv_device_attr_ex attr;
	FIND(context, a[0], CONTEXT);
	size_t size = a[2] < sizeof(attr) ? a[2] : sizeof(attr);
	memset(&attr, 0, sizeof(attr));
	int rc = provider->query_device(context->handle, &attr, sizeof(attr));
	if (!rc)
		put(a[1], &attr, size);
	return rc;
}

int64_t verbs_query_port(const uint64_t *a)
{
	struct ibv_port_attr attr;
	FIND(context, a[0], CONTEXT);
	memset(&attr, 0, sizeof(attr));
	int rc = provider->query_port(context->handle, (uint8_t)a[1], &attr);
	if (!rc)
		put(a[2], &attr, sizeof(attr));
	return rc;
}

int64_t verbs_query_gid(const uint64_t *a)
{
	struct ibv_gid_entry entry;
	FIND(context, a[0], CONTEXT);
	memset(&entry, 0, sizeof(entry));
	int rc = provider->query_gid(context->handle, (uint8_t)a[1], (int)a[2], &entry);
	if (!rc)
		put(a[3], &entry, sizeof(entry));
	return rc;
}

int64_t verbs_query_pkey(const uint64_t *a)
{
	__be16 pkey = 0;
	FIND(context, a[0], CONTEXT);
	int rc = provider->query_pkey(context->handle, (uint8_t)a[1], (int)a[2], &pkey);
	if (!rc)
		put(a[3], &pkey, sizeof(pkey));
	return rc;
}

int64_t verbs_async_event(const uint64_t *a)
{
	FIND(context, a[0], CONTEXT);
	const struct object *of = NULL;
	int first = synthetic ? synthetic_async(context, &of) : -1;
	if (first >= 0) {
		struct verbs_event event = {.object = of->cookie, .type = (uint32_t)first};
		put(a[1], &event, sizeof(event));
		return 0;
	}
	for (;;) {
		int type = 0, port = 0;
		void *handle = NULL;
		int rc = provider->async_event(context->handle, &type, &handle, &port);
		if (rc)
			return rc;
		enum kind kind = event_kind(type);
		struct object *o = kind ? object_of(handle, kind) : NULL;
		if (kind && !o)
			continue; /* it was destroyed meanwhile */
		struct verbs_event event = {.object = kind ? o->cookie : (uint64_t)port, .type = (uint32_t)type};
		put(a[1], &event, sizeof(event));
		return 0;
	}
}
