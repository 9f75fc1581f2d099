/* Device memory (ibv_alloc_dm(3)), if the device has any: the software HCA's is memory of the process. */
#include "upper.h"

struct device_memory {
	struct ibv_dm dm;
	uint64_t length;
	uint32_t users; /* regions */
	char *bytes;
};

static struct device_memory *memory_of(struct ibv_dm *dm)
{
	return CONTAINER(dm, struct device_memory, dm);
}

static bool outside(const struct device_memory *m, uint64_t offset, uint64_t length)
{
	return offset > m->length || length > m->length - offset;
}

/* A processor writes to the memory of an adapter in words. */
static bool cannot_copy(struct ibv_dm *dm, uint64_t offset, uint64_t length)
{
	return (offset | length) % 4 || outside(memory_of(dm), offset, length);
}

static int to_memory(struct ibv_dm *dm, uint64_t offset, const void *from, size_t length)
{
	if (cannot_copy(dm, offset, length))
		return EFAULT;
	memcpy(memory_of(dm)->bytes + offset, from, length);
	return 0;
}

static int from_memory(void *to, struct ibv_dm *dm, uint64_t offset, size_t length)
{
	if (cannot_copy(dm, offset, length))
		return EFAULT;
	memcpy(to, memory_of(dm)->bytes + offset, length);
	return 0;
}

/* Takes from the device's memory.  0 or an errno value. */
static int take(struct context *c, uint64_t bytes)
{
	pthread_mutex_lock(&c->verbs.context.mutex);
	const int err = !c->has_memory ? EOPNOTSUPP : bytes > c->memory_left ? ENOMEM : 0;
	if (!err)
		c->memory_left -= bytes;
	pthread_mutex_unlock(&c->verbs.context.mutex);
	return err;
}

static void give_back(struct context *c, uint64_t bytes)
{
	pthread_mutex_lock(&c->verbs.context.mutex);
	c->memory_left += bytes;
	pthread_mutex_unlock(&c->verbs.context.mutex);
}

struct ibv_dm *ops_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr)
{
	enum { LOG_PAGE = 12 };
	if (attr->comp_mask || !attr->length || attr->log_align_req > LOG_PAGE)
		return not_made(NULL, -EINVAL);
	int err = take(context_of(context), attr->length);
	if (err)
		return not_made(NULL, -err);
	struct device_memory *m = calloc(1, sizeof(*m));
	/* zeros, as the memory of a device whose last user was another process */
	if (!m || posix_memalign((void **)&m->bytes, 1u << LOG_PAGE, attr->length)) {
		give_back(context_of(context), attr->length);
		return not_made(m, -ENOMEM);
	}
	memset(m->bytes, 0, attr->length);
	m->length = attr->length;
	m->dm.context = context;
	m->dm.memcpy_to_dm = to_memory;
	m->dm.memcpy_from_dm = from_memory;
	return &m->dm;
}

int ops_free_dm(struct ibv_dm *dm)
{
	struct device_memory *m = memory_of(dm);
	if (m->users)
		return EBUSY;
	give_back(context_of(dm->context), m->length);
	free(m->bytes);
	free(m);
	return 0;
}

struct ibv_mr *ops_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t offset, size_t length, unsigned access)
{
	struct device_memory *m = memory_of(dm);
	if (!(access & IBV_ACCESS_ZERO_BASED) || outside(m, offset, length))
		return not_made(NULL, -EINVAL);
	struct ibv_mr *mr = reg_mr(pd, m->bytes + offset, length, 0, access, &m->users);
	if (mr)
		mr->addr = NULL;
	return mr;
}

EXPORT struct ibv_dm *ibv_import_dm(struct ibv_context *context, uint32_t handle)
{
	(void)context, (void)handle;
	errno = EOPNOTSUPP;
	return NULL;
}

EXPORT void ibv_unimport_dm(struct ibv_dm *dm)
{
	(void)dm;
}
