/* Protection domains, and parent domains, which are the same to the device. */
#include "upper.h"

struct domain {
	struct ibv_pd pd;
	struct domain *of;        /* a parent domain: its protection domain */
	struct thread_domain *td; /* of a parent domain; may be NULL */
	uint32_t users;           /* parent domains made of it */
};

struct thread_domain {
	struct ibv_td td;
	uint32_t users;
};

static struct domain *domain_of(struct ibv_pd *pd)
{
	return CONTAINER(pd, struct domain, pd);
}

EXPORT struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct domain *d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	int64_t id = ASK(VERBS_ALLOC_PD, context_of(context)->id);
	if (id < 0)
		return not_made(d, id);
	d->pd.context = context;
	d->pd.handle = (uint32_t)id;
	return &d->pd;
}

static void count(uint32_t *users, uint32_t n)
{
	__atomic_add_fetch(users, n, __ATOMIC_ACQ_REL);
}

/* The allocators of a parent domain are for memory that a device reads; there is none. */
struct ibv_pd *ops_alloc_parent_domain(struct ibv_context *context, struct ibv_parent_domain_init_attr *attr)
{
	const uint32_t known = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
	if (!attr->pd || attr->pd->context != context || attr->comp_mask & ~known)
		return not_made(NULL, -EINVAL);
	struct domain *d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	d->pd.context = context;
	d->pd.handle = attr->pd->handle;
	d->of = domain_of(attr->pd);
	count(&d->of->users, 1);
	if (attr->td) {
		d->td = CONTAINER(attr->td, struct thread_domain, td);
		count(&d->td->users, 1);
	}
	return &d->pd;
}

EXPORT int ibv_dealloc_pd(struct ibv_pd *pd)
{
	struct domain *d = domain_of(pd);
	int err = d->users ? EBUSY : d->of ? 0 : error_of(ASK(VERBS_DEALLOC_PD, pd->handle));
	if (err)
		return err;
	if (d->of)
		count(&d->of->users, -1u);
	if (d->td)
		count(&d->td->users, -1u);
	free(d);
	return 0;
}

/* A thread domain promises that one thread at a time uses its objects; nothing here is faster for that. */
struct ibv_td *ops_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr)
{
	if (attr->comp_mask)
		return not_made(NULL, -EINVAL);
	struct thread_domain *t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->td.context = context;
	return &t->td;
}

int ops_dealloc_td(struct ibv_td *td)
{
	struct thread_domain *t = CONTAINER(td, struct thread_domain, td);
	if (t->users)
		return EBUSY;
	free(t);
	return 0;
}

/* Sharing objects between processes is not supported. */
EXPORT struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t handle)
{
	(void)context, (void)handle;
	errno = EOPNOTSUPP;
	return NULL;
}

EXPORT void ibv_unimport_pd(struct ibv_pd *pd)
{
	(void)pd;
}
