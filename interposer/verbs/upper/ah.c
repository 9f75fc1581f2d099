/* Address handles. */
#include <arpa/inet.h>
#include "upper.h"

EXPORT struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct ibv_ah *ah = calloc(1, sizeof(*ah));
	if (!ah)
		return NULL;
	int64_t id = ASK(VERBS_CREATE_AH, pd->handle, P(attr));
	if (id < 0)
		return not_made(ah, id);
	ah->context = pd->context;
	ah->pd = pd;
	ah->handle = (uint32_t)id;
	return ah;
}

EXPORT int ibv_destroy_ah(struct ibv_ah *ah)
{
	int err = error_of(ASK(VERBS_DESTROY_AH, ah->handle));
	if (!err)
		free(ah);
	return err;
}

static int gid_index_of(struct ibv_context *context, uint8_t port, const union ibv_gid *gid)
{
	union ibv_gid found;
	struct ibv_port_attr attr;
	if (ops_query_port(context, port, &attr, sizeof(attr)))
		return -1;
	for (int i = 0; i < attr.gid_tbl_len; i++)
		if (ibv_query_gid(context, port, i, &found) == 0 && !memcmp(&found, gid, sizeof(found)))
			return i;
	return -1;
}

/* The last 20 of the 40 bytes before a datagram are an IPv4 header if its checksum is right (RoCE v2; InfiniBand
 * specification, annex A17). */
static bool is_ipv4(const struct ibv_grh *grh)
{
	const uint8_t *header = (const uint8_t *)grh + 20;
	uint32_t sum = 0;
	if (header[0] != 0x45)
		return false;
	for (unsigned i = 0; i < 20; i += 2)
		sum += (uint32_t)header[i] << 8 | header[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	return ((sum & 0xffff) + (sum >> 16)) == 0xffff;
}

static void mapped(union ibv_gid *gid, const uint8_t address[4])
{
	memset(gid, 0, sizeof(*gid));
	gid->raw[10] = gid->raw[11] = 0xff;
	memcpy(gid->raw + 12, address, 4);
}

EXPORT int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port, struct ibv_wc *wc, struct ibv_grh *grh,
			       struct ibv_ah_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->dlid = wc->slid;
	attr->sl = wc->sl;
	attr->src_path_bits = wc->dlid_path_bits;
	attr->port_num = port;
	if (!(wc->wc_flags & IBV_WC_GRH))
		return 0;
	union ibv_gid own = grh->dgid;
	uint32_t flow = ntohl(grh->version_tclass_flow);
	attr->is_global = 1;
	attr->grh.dgid = grh->sgid;
	attr->grh.hop_limit = 0xff;
	attr->grh.flow_label = flow & 0xfffff;
	attr->grh.traffic_class = (uint8_t)(flow >> 20);
	if (is_ipv4(grh)) {
		const uint8_t *header = (const uint8_t *)grh + 20;
		mapped(&attr->grh.dgid, header + 12);
		mapped(&own, header + 16);
		attr->grh.flow_label = 0;
		attr->grh.traffic_class = header[1];
	}
	int index = gid_index_of(context, port, &own);
	if (index < 0)
		return -1;
	attr->grh.sgid_index = (uint8_t)index;
	return 0;
}

EXPORT struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh, uint8_t port)
{
	struct ibv_ah_attr attr;
	return ibv_init_ah_from_wc(pd->context, port, wc, grh, &attr) ? NULL : ibv_create_ah(pd, &attr);
}

/* The provider does not need the link-layer address. */
EXPORT int ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr, uint8_t mac[6],
				       uint16_t *vlan)
{
	(void)context, (void)attr;
	memset(mac, 0, 6);
	if (vlan)
		*vlan = 0xffff;
	return 0;
}
