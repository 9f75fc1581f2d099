/* Queries of devices and ports. */
#include "upper.h"

int ops_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
			struct ibv_device_attr_ex *attr, size_t size)
{
	if (input && input->comp_mask)
		return EINVAL;
	if (size < sizeof(attr->orig_attr) + sizeof(attr->comp_mask))
		return EINVAL;
	return error_of(ASK(VERBS_QUERY_DEVICE, context_of(context)->id, P(attr), size));
}

EXPORT int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	return error_of(ASK(VERBS_QUERY_DEVICE, context_of(context)->id, P(attr), sizeof(*attr)));
}

int ops_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr, size_t len)
{
	struct ibv_port_attr found;
	int err = error_of(ASK(VERBS_QUERY_PORT, context_of(context)->id, port, P(&found)));
	if (!err) {
		memset(attr, 0, len);
		memcpy(attr, &found, len < sizeof(found) ? len : sizeof(found));
	}
	return err;
}

/* For programs built before port_cap_flags2 and the members behind it existed. */
EXPORT int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attr)
{
	return ops_query_port(context, port, (struct ibv_port_attr *)attr,
			      offsetof(struct ibv_port_attr, port_cap_flags2));
}

static int64_t gid_entry(struct ibv_context *context, uint32_t port, int index, struct ibv_gid_entry *entry)
{
	return ASK(VERBS_QUERY_GID, context_of(context)->id, port, (uint64_t)index, P(entry));
}

EXPORT int ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid)
{
	struct ibv_gid_entry entry;
	int64_t r = gid_entry(context, port, index, &entry);
	if (r == -ENODATA) {
		memset(gid, 0, sizeof(*gid));
		return 0;
	}
	if (failed(r))
		return -1;
	*gid = entry.gid;
	return 0;
}

EXPORT int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index, struct ibv_gid_entry *entry,
			     uint32_t flags, size_t size)
{
	struct ibv_gid_entry found;
	if (flags)
		return EOPNOTSUPP;
	int err = error_of(gid_entry(context, port, (int)index, &found));
	if (!err)
		memcpy(entry, &found, size < sizeof(found) ? size : sizeof(found));
	return err;
}

EXPORT ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries, size_t room,
				    uint32_t flags, size_t size)
{
	struct ibv_device_attr device;
	size_t n = 0;
	if (flags || size < sizeof(*entries))
		return flags ? -EOPNOTSUPP : -EINVAL;
	int err = ibv_query_device(context, &device);
	for (uint32_t port = 1; !err && port <= device.phys_port_cnt; port++) {
		struct ibv_port_attr attr;
		err = ops_query_port(context, (uint8_t)port, &attr, sizeof(attr));
		for (int i = 0; !err && i < attr.gid_tbl_len; i++) {
			struct ibv_gid_entry found;
			int64_t r = gid_entry(context, port, i, &found);
			if (r == -ENODATA)
				continue;
			if (r < 0)
				return r;
			if (n == room)
				return -EINVAL;
			memcpy((char *)entries + n++ * size, &found, sizeof(found));
		}
	}
	return err ? -err : (ssize_t)n;
}

/* IBVERBS_PRIVATE_34, used by librdmacm.  *type: enum ibv_gid_type_sysfs, 0 InfiniBand or RoCE v1, 1 RoCE v2 */
int ibv_query_gid_type(struct ibv_context *context, uint8_t port, unsigned index, int *type);
EXPORT int ibv_query_gid_type(struct ibv_context *context, uint8_t port, unsigned index, int *type)
{
	struct ibv_gid_entry entry;
	if (failed(gid_entry(context, port, (int)index, &entry)))
		return -1;
	*type = entry.gid_type == IBV_GID_TYPE_ROCE_V2;
	return 0;
}

EXPORT int ibv_query_pkey(struct ibv_context *context, uint8_t port, int index, __be16 *pkey)
{
	return failed(ASK(VERBS_QUERY_PKEY, context_of(context)->id, port, (uint64_t)index, P(pkey)));
}

EXPORT int ibv_get_pkey_index(struct ibv_context *context, uint8_t port, __be16 pkey)
{
	__be16 found;
	for (int i = 0; ibv_query_pkey(context, port, i, &found) == 0; i++)
		if (found == pkey)
			return i;
	errno = EOPNOTSUPP;
	return -1;
}
