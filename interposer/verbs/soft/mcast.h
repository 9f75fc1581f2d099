/* Multicast groups (mcast.c), and their encoding in a frame. */
#pragma once
#include "qp.h"
#include "wire.h"

enum { HCA_TARGETS = 256 };

/* Processes to which a datagram to a group is sent. */
struct hca_targets {
	unsigned n, at;
	struct {
		uint32_t ip;
		uint16_t port;
	} to[HCA_TARGETS];
};

bool hca_is_group(const union ibv_gid *gid);
/* Finds the members of a group, at most HCA_TARGETS. */
void hca_mcast_targets(const union ibv_gid *gid, struct hca_targets *to);
/* The queue pairs of this process that are in the group. */
void hca_mcast_each(const union ibv_gid *group, void (*fn)(struct hca_qp *member, void *arg), void *arg);
void hca_mcast_stop(void);
void hca_mcast_forget(void);

/* The group of a FRAME_MULTICAST is in fields that datagrams do not use. */
static inline void hca_frame_set_group(struct frame *f, const union ibv_gid *gid)
{
	memcpy(&f->addr, gid->raw, 8);
	memcpy(&f->rkey, gid->raw + 8, 4);
	f->seq = (uint32_t)(gid->raw[12] | gid->raw[13] << 8 | gid->raw[14] << 16);
	f->attempt = gid->raw[15];
}

static inline void hca_frame_group(const struct frame *f, union ibv_gid *gid)
{
	memcpy(gid->raw, &f->addr, 8);
	memcpy(gid->raw + 8, &f->rkey, 4);
	gid->raw[12] = (uint8_t)f->seq;
	gid->raw[13] = (uint8_t)(f->seq >> 8);
	gid->raw[14] = (uint8_t)(f->seq >> 16);
	gid->raw[15] = f->attempt;
}
