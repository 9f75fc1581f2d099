/* IBVERBS_PRIVATE_34: symbols that drivers of rdma-core (libmlx5, libefa) import from libibverbs.  With these the
 * drivers can be loaded, as pyverbs does; they find no device. */
#include <errno.h>
#include <stddef.h>
#include "upper.h"

void verbs_register_driver_34(const void *ops);
EXPORT void verbs_register_driver_34(const void *ops)
{
	(void)ops;
}

#define REFUSED(name) \
	int name(void); \
	EXPORT int name(void) \
	{ \
		return EOPNOTSUPP; \
	}
#define NO_OBJECT(name) \
	void *name(void); \
	EXPORT void *name(void) \
	{ \
		errno = EOPNOTSUPP; \
		return NULL; \
	}
#define NOTHING(name) \
	void name(void); \
	EXPORT void name(void) {}

NO_OBJECT(_verbs_init_and_alloc_context)
NO_OBJECT(verbs_open_device)
NOTHING(__verbs_log)
NOTHING(verbs_set_ops)
NOTHING(verbs_uninit_context)
REFUSED(__ioctl_final_num_attrs)
REFUSED(execute_ioctl)
REFUSED(ibv_cmd_advise_mr)
REFUSED(ibv_cmd_alloc_dm)
REFUSED(ibv_cmd_alloc_dmah)
REFUSED(ibv_cmd_alloc_mw)
REFUSED(ibv_cmd_alloc_pd)
REFUSED(ibv_cmd_attach_mcast)
REFUSED(ibv_cmd_close_xrcd)
REFUSED(ibv_cmd_create_ah)
REFUSED(ibv_cmd_create_counters)
REFUSED(ibv_cmd_create_cq)
REFUSED(ibv_cmd_create_cq_ex)
REFUSED(ibv_cmd_create_cq_ex2)
REFUSED(ibv_cmd_create_flow)
REFUSED(ibv_cmd_create_flow_action_esp)
REFUSED(ibv_cmd_create_qp)
REFUSED(ibv_cmd_create_qp_ex)
REFUSED(ibv_cmd_create_qp_ex2)
REFUSED(ibv_cmd_create_rwq_ind_table)
REFUSED(ibv_cmd_create_srq)
REFUSED(ibv_cmd_create_srq_ex)
REFUSED(ibv_cmd_create_wq)
REFUSED(ibv_cmd_dealloc_mw)
REFUSED(ibv_cmd_dealloc_pd)
REFUSED(ibv_cmd_dereg_mr)
REFUSED(ibv_cmd_destroy_ah)
REFUSED(ibv_cmd_destroy_counters)
REFUSED(ibv_cmd_destroy_cq)
REFUSED(ibv_cmd_destroy_flow)
REFUSED(ibv_cmd_destroy_flow_action)
REFUSED(ibv_cmd_destroy_qp)
REFUSED(ibv_cmd_destroy_rwq_ind_table)
REFUSED(ibv_cmd_destroy_srq)
REFUSED(ibv_cmd_destroy_wq)
REFUSED(ibv_cmd_detach_mcast)
REFUSED(ibv_cmd_free_dm)
REFUSED(ibv_cmd_free_dmah)
REFUSED(ibv_cmd_get_context)
REFUSED(ibv_cmd_modify_cq)
REFUSED(ibv_cmd_modify_flow_action_esp)
REFUSED(ibv_cmd_modify_qp)
REFUSED(ibv_cmd_modify_qp_ex)
REFUSED(ibv_cmd_modify_srq)
REFUSED(ibv_cmd_modify_wq)
REFUSED(ibv_cmd_open_qp)
REFUSED(ibv_cmd_open_xrcd)
REFUSED(ibv_cmd_poll_cq)
REFUSED(ibv_cmd_post_recv)
REFUSED(ibv_cmd_post_send)
REFUSED(ibv_cmd_post_srq_recv)
REFUSED(ibv_cmd_query_context)
REFUSED(ibv_cmd_query_device_any)
REFUSED(ibv_cmd_query_mr)
REFUSED(ibv_cmd_query_port)
REFUSED(ibv_cmd_query_qp)
REFUSED(ibv_cmd_query_srq)
REFUSED(ibv_cmd_read_counters)
REFUSED(ibv_cmd_reg_dm_mr)
REFUSED(ibv_cmd_reg_dmabuf_mr)
REFUSED(ibv_cmd_reg_mr)
REFUSED(ibv_cmd_reg_mr_ex)
REFUSED(ibv_cmd_req_notify_cq)
REFUSED(ibv_cmd_rereg_mr)
REFUSED(ibv_cmd_resize_cq)
REFUSED(ibv_read_ibdev_sysfs_file)
REFUSED(verbs_init_cq)

extern bool verbs_allow_disassociate_destroy;
EXPORT bool verbs_allow_disassociate_destroy;
