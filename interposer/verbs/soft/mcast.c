/* Multicast groups: the device has none. */
#include <errno.h>
#include "qp.h"

int hca_attach_mcast(void *qp, const union ibv_gid *gid, uint16_t lid)
{
	return -EOPNOTSUPP;
}

int hca_detach_mcast(void *qp, const union ibv_gid *gid, uint16_t lid)
{
	return -EOPNOTSUPP;
}
