/* The device "rdb0", with one port. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "device.h"
#include "wire.h"

int hca_devices(struct verbs_device *list, unsigned room)
{
	if (room < 1)
		return 0;
	hca_gids_read();
	*list = (struct verbs_device){.name = "rdb0",
				      .dev_name = "uverbs0",
				      .node_guid = hca_node_guid(),
				      .node_type = IBV_NODE_CA,
				      .transport_type = IBV_TRANSPORT_IB};
	return 1;
}

int hca_open(unsigned device, void **out, int *async_fd, int *num_comp_vectors)
{
	if (device)
		return -ENODEV;
	struct hca_context *c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->async_fd = hca_keep(eventfd(0, EFD_CLOEXEC));
	if (c->async_fd < 0) {
		int rc = c->async_fd;
		free(c);
		return rc;
	}
	list_init(&c->events);
	list_append(&hca.contexts, &c->link);
	*out = c;
	*async_fd = c->async_fd;
	*num_comp_vectors = 1;
	return 0;
}

int hca_close(void *context)
{
	struct hca_context *c = context;
	if (c->users)
		return -EBUSY;
	hca_async_forget(c, NULL);
	list_remove(&c->link);
	close(c->async_fd);
	free(c);
	return 0;
}

int hca_query_device(void *context, struct ibv_device_attr_ex *attr, size_t size)
{
	struct ibv_device_attr_ex a = {.phys_port_cnt_ex = 1};
	struct ibv_device_attr *o = &a.orig_attr;
	strcpy(o->fw_ver, "1.0");
	o->node_guid = o->sys_image_guid = hca_node_guid();
	o->max_mr_size = (uint64_t)1 << 47;
	o->page_size_cap = 4096;
	o->vendor_id = 0xffffff; /* not assigned to any vendor */
	o->vendor_part_id = 1;
	o->hw_ver = 1;
	o->max_qp = HCA_QPS - 2;
	o->max_qp_wr = HCA_MAX_WR;
	o->device_cap_flags = IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_SHUTDOWN_PORT | IBV_DEVICE_SYS_IMAGE_GUID |
			      IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_MEM_WINDOW |
			      IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_PORT_ACTIVE_EVENT;
	o->max_sge = o->max_sge_rd = o->max_srq_sge = HCA_MAX_SGE;
	o->max_cq = o->max_srq = o->max_mw = o->max_ah = o->max_pd = 1 << 16;
	o->max_mr = 1 << 20;
	o->max_cqe = HCA_MAX_CQE;
	o->max_qp_rd_atom = o->max_qp_init_rd_atom = HCA_MAX_READS;
	o->max_res_rd_atom = HCA_MAX_READS * (HCA_QPS - 2);
	o->atomic_cap = IBV_ATOMIC_HCA;
	o->max_srq_wr = HCA_MAX_WR;
	o->max_mcast_grp = o->max_mcast_qp_attach = o->max_total_mcast_qp_attach = 1024;
	o->max_pkeys = 1;
	o->local_ca_ack_delay = 15;
	o->phys_port_cnt = 1;
	const uint32_t sends = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_SRQ_RECV;
	a.odp_caps.general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT;
	a.odp_caps.per_transport_caps.rc_odp_caps = sends | IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ |
						    IBV_ODP_SUPPORT_ATOMIC;
	a.odp_caps.per_transport_caps.uc_odp_caps = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_WRITE;
	a.odp_caps.per_transport_caps.ud_odp_caps = sends;
	a.max_dm_size = HCA_MAX_DM;
	a.completion_timestamp_mask = UINT64_MAX;
	a.hca_core_clock = 1000000; /* kHz: ns of the monotonic clock */
	memcpy(attr, &a, size < sizeof(a) ? size : sizeof(a));
	return 0;
}

int hca_query_port(void *context, uint8_t port, struct ibv_port_attr *attr)
{
	if (port != 1)
		return -EINVAL;
	*attr = (struct ibv_port_attr){.state = IBV_PORT_ACTIVE,
				       .max_mtu = IBV_MTU_4096,
				       .active_mtu = IBV_MTU_4096,
				       .gid_tbl_len = (int)hca.ngids,
				       .port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS,
				       .max_msg_sz = FRAME_MESSAGE_MAX,
				       .pkey_tbl_len = 1,
				       .active_width = 2,
				       .active_speed = 32,
				       .phys_state = 5,
				       .lid = hca.lid,
				       .sm_lid = hca.lid,
				       .link_layer = hca.lid ? IBV_LINK_LAYER_INFINIBAND : IBV_LINK_LAYER_ETHERNET};
	return 0;
}

int hca_query_gid(void *context, uint8_t port, int index, struct ibv_gid_entry *entry)
{
	if (port != 1 || index < 0 || (unsigned)index >= hca.ngids)
		return -EINVAL;
	*entry = (struct ibv_gid_entry){.gid = hca.gids[index].gid,
					.gid_index = (uint32_t)index,
					.port_num = 1,
					.gid_type = IBV_GID_TYPE_ROCE_V2,
					.ndev_ifindex = hca.gids[index].ifindex};
	return 0;
}

int hca_query_pkey(void *context, uint8_t port, int index, __be16 *pkey)
{
	if (port != 1 || index)
		return -EINVAL;
	*pkey = htobe16(0xffff);
	return 0;
}
