/* Completion queues and completion channels. */
#pragma once
#include "device.h"

struct hca_channel {
	struct hca_context *context;
	int fd;
	bool signalled;
	unsigned users;
	struct list ready; /* queues with events */
};

struct hca_cq {
	struct hca_context *context;
	struct hca_channel *channel;
	unsigned users;
	struct hca_completed {
		struct ibv_wc wc;
		uint64_t at; /* time */
	} * ring;
	uint64_t polled_at; /* time of the completion that was polled last */
	unsigned size, head, count;
	bool armed, solicited_only, overrun;
	unsigned events;  /* not fetched yet */
	struct list link; /* in channel->ready */
};

int hca_create_channel(void *context, void **channel, int *fd);
int hca_destroy_channel(void *channel);
int hca_create_cq(void *context, int *cqe, void *channel, int vector, void **cq);
int hca_resize_cq(void *cq, int *cqe);
int hca_destroy_cq(void *cq);
int hca_poll_cq(void *cq, int n, struct ibv_wc *wc);
uint64_t hca_completed_at(void *cq);
int hca_req_notify_cq(void *cq, int solicited_only);
int hca_cq_event(void *channel, void **cq);

/* Removes the completions of a queue pair that is reset or destroyed. */
void hca_cq_forget_qp(struct hca_cq *cq, uint32_t number);
bool hca_cq_holds(const struct hca_cq *cq, uint32_t qp_number);
/* Puts the saved state of an earlier queue into this one. */
int hca_restore_cq(void *cq, const struct verbs_queued *queued);
/* Takes out the oldest completion; there must be one. */
struct ibv_wc hca_cq_take(struct hca_cq *cq);
/* Reports a completion to the plug-in; call before hca_cq_push(). */
static inline void hca_cq_tell(const struct ibv_wc *wc, bool received, bool solicited, uint32_t request)
{
	if (hca.above->completed)
		hca.above->completed(&(struct verbs_completed){
			.wc = *wc, .received = received, .solicited = solicited, .request = request});
}
/* Adds a completion; `solicited`: the sender asked for an event. */
void hca_cq_push(struct hca_cq *cq, const struct ibv_wc *wc, bool solicited);
