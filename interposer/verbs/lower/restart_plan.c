/* The plan is a text file.  Its lines are:
 *   rank R
 *   send OBJECT ORDINAL
 *   recv OBJECT ORDINAL
 *   read OBJECT ORDINAL
 *   value OBJECT ORDINAL WORD
 *   failed QP
 *   async CONTEXT TYPE OBJECT
 *   limit SRQ COUNT
 *   queue CQ ARMED SOLICITED-ONLY EVENTS
 *   wc RECEIVED SOLICITED HEX   an entry (struct ibv_wc) of the queue above */
#include "restart.h"
#include <stdio.h>

struct restart restart;

static void *one_more(void *list, unsigned n, size_t size)
{
	void *p = n & (n - 1) ? list : realloc(list, (n ? 2ul * n : 1) * size);
	if (!p)
		host->fatal("out of memory for a restart");
	memset((char *)p + n * size, 0, size);
	return p;
}

#define ADD(list, n) (list = one_more(list, n, sizeof(*list)), &list[n++])

static bool bytes(const char *hex, void *to, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned value;
		if (sscanf(hex + 2 * i, "%2x", &value) != 1)
			return false;
		((uint8_t *)to)[i] = (uint8_t)value;
	}
	return hex[2 * len] == 0 || hex[2 * len] == '\n';
}

static bool entry(struct plan *plan, const char *line)
{
	char hex[2 * sizeof(struct ibv_wc) + 2];
	unsigned received, solicited;
	if (!plan->nqueues || sscanf(line, "wc %u %u %97s", &received, &solicited, hex) != 3)
		return false;
	struct verbs_queued *q = &plan->queues[plan->nqueues - 1].queued;
	struct verbs_completed *list = (struct verbs_completed *)q->completed;
	struct verbs_completed *c = ADD(list, q->count);
	q->completed = list;
	c->received = received;
	c->solicited = solicited;
	return strlen(hex) == 2 * sizeof(struct ibv_wc) && bytes(hex, &c->wc, sizeof(c->wc));
}

static bool take(struct plan *plan, const char *line)
{
	unsigned a, b, c, d;
	unsigned long value;
	if (sscanf(line, "rank %u", &a) == 1)
		*ADD(plan->ranks, plan->nranks) = (int)a;
	else if (sscanf(line, "send %u %u", &a, &b) == 2)
		*ADD(plan->requests, plan->nrequests) = (struct plan_request){.send = true, .object = a, .ordinal = b};
	else if (sscanf(line, "read %u %u", &a, &b) == 2)
		*ADD(plan->requests,
		     plan->nrequests) = (struct plan_request){.send = true, .object = a, .ordinal = b, .now = true};
	else if (sscanf(line, "value %u %u %lu", &a, &b, &value) == 3)
		*ADD(plan->requests, plan->nrequests) = (struct plan_request){
			.send = true, .object = a, .ordinal = b, .answered = true, .value = value};
	else if (sscanf(line, "recv %u %u", &a, &b) == 2)
		*ADD(plan->requests, plan->nrequests) = (struct plan_request){.object = a, .ordinal = b};
	else if (sscanf(line, "failed %u", &a) == 1)
		*ADD(plan->failed, plan->nfailed) = a;
	else if (sscanf(line, "async %u %u %u", &a, &b, &c) == 3)
		*ADD(plan->async, plan->nasync) = (struct plan_async){a, b, c};
	else if (sscanf(line, "limit %u %u", &a, &b) == 2)
		*ADD(plan->limits, plan->nlimits) = (struct plan_limit){a, b};
	else if (sscanf(line, "queue %u %u %u %u", &a, &b, &c, &d) == 4)
		*ADD(plan->queues, plan->nqueues) = (struct plan_queue){a,
									{.armed = b, .solicited_only = c, .events = d}};
	else
		return entry(plan, line);
	return plan->nranks <= PLAN_RANKS;
}

static int order(const void *a, const void *b)
{
	const struct plan_request *x = a, *y = b;
	if (x->send != y->send)
		return x->send ? 1 : -1;
	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	return x->ordinal < y->ordinal ? -1 : x->ordinal > y->ordinal;
}

const char *plan_read(const char *path, struct plan *plan)
{
	char line[256];
	FILE *f = fopen(path, "re");
	if (!f)
		return "there is no restart plan for its queue pairs";
	bool good = true;
	while (good && fgets(line, sizeof(line), f))
		good = take(plan, line);
	fclose(f);
	if (!good)
		return "the restart plan for its queue pairs is damaged";
	if (plan->nrequests)
		qsort(plan->requests, plan->nrequests, sizeof(*plan->requests), order);
	return NULL;
}

struct plan_request *plan_request(const struct plan *plan, bool send, uint32_t object, uint32_t ordinal)
{
	const struct plan_request key = {.send = send, .object = object, .ordinal = ordinal};
	return plan->nrequests ? bsearch(&key, plan->requests, plan->nrequests, sizeof(key), order) : NULL;
}

const struct verbs_provider *restart_provider(void)
{
	const struct verbs_provider *p = provider_choose(host->hca);
	return p || !host->hca || strcmp(host->hca, "auto") ? p : provider_choose("soft");
}
