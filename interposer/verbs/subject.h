/* Kind of object that an asynchronous event belongs to, by its type: ibv_get_async_event(3). */
#pragma once
#include <infiniband/verbs.h>

enum verbs_subject { SUBJECT_PORT, SUBJECT_CQ, SUBJECT_QP, SUBJECT_SRQ, SUBJECT_WQ }; /* PORT: port or device */

static inline enum verbs_subject verbs_subject(enum ibv_event_type type)
{
	switch (type) {
	case IBV_EVENT_CQ_ERR: return SUBJECT_CQ;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED: return SUBJECT_QP;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED: return SUBJECT_SRQ;
	case IBV_EVENT_WQ_FATAL: return SUBJECT_WQ;
	default: return SUBJECT_PORT;
	}
}
