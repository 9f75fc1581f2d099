/* Protection domains. */
#include "upper.h"

EXPORT struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct ibv_pd *pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;
	int64_t id = ASK(VERBS_ALLOC_PD, context_of(context)->id);
	if (id < 0)
		return not_made(pd, id);
	pd->context = context;
	pd->handle = (uint32_t)id;
	return pd;
}

EXPORT int ibv_dealloc_pd(struct ibv_pd *pd)
{
	int err = error_of(ASK(VERBS_DEALLOC_PD, pd->handle));
	if (!err)
		free(pd);
	return err;
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
