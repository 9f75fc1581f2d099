/* Messages of two connection managers, over a TCP connection that represents the RDMA connection. */
#pragma once
#include <stdint.h>

enum { CM_PRIVATE = 256, CM_VERSION = 1 };
#define CM_MAGIC 0x6d636472u /* "rdcm" */

enum cm_kind {
	CM_REQUEST = 1, /* from the active side */
	CM_REPLY,
	CM_READY, /* answers CM_REPLY */
	CM_REJECT,
	CM_DISCONNECT,
	CM_DISCONNECTED, /* answers CM_DISCONNECT */
};

/* Little-endian. */
struct cm_message {
	uint32_t magic;
	uint8_t version, kind, datagrams, private_len;
	uint32_t qpn, psn, qkey, status;
	uint8_t gid[16];
	uint8_t responder_resources, initiator_depth, flow_control, retry_count, rnr_retry_count, srq, reserved[2];
	uint8_t private_data[CM_PRIVATE];
};
_Static_assert(sizeof(struct cm_message) == 304, "on the wire");
