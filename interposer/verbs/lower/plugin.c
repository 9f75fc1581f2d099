/* The plug-in's face to the boundary: which provider, which call. */
#include "numbers.h"
#include "plugin.h"

#pragma weak verbs_soft
#pragma weak verbs_real

const struct rdb_host *host;
const struct verbs_provider *provider; /* NULL: there are no devices */

static verbs_fn *const calls[VERBS_CALLS] = {
	[VERBS_DEVICES] = verbs_devices,
	[VERBS_OPEN] = verbs_open,
	[VERBS_CLOSE] = verbs_close,
	[VERBS_QUERY_DEVICE] = verbs_query_device,
	[VERBS_QUERY_PORT] = verbs_query_port,
	[VERBS_QUERY_GID] = verbs_query_gid,
	[VERBS_QUERY_PKEY] = verbs_query_pkey,
	[VERBS_ASYNC_EVENT] = verbs_async_event,
	[VERBS_ALLOC_PD] = verbs_alloc_pd,
	[VERBS_DEALLOC_PD] = verbs_dealloc_pd,
	[VERBS_REG_MR] = verbs_reg_mr,
	[VERBS_REREG_MR] = verbs_rereg_mr,
	[VERBS_DEREG_MR] = verbs_dereg_mr,
	[VERBS_ALLOC_MW] = verbs_alloc_mw,
	[VERBS_DEALLOC_MW] = verbs_dealloc_mw,
	[VERBS_BIND_MW] = verbs_bind_mw,
	[VERBS_CREATE_CHANNEL] = verbs_create_channel,
	[VERBS_DESTROY_CHANNEL] = verbs_destroy_channel,
	[VERBS_CREATE_CQ] = verbs_create_cq,
	[VERBS_RESIZE_CQ] = verbs_resize_cq,
	[VERBS_DESTROY_CQ] = verbs_destroy_cq,
	[VERBS_POLL_CQ] = verbs_poll_cq,
	[VERBS_NOTIFY_CQ] = verbs_notify_cq,
	[VERBS_CQ_EVENT] = verbs_cq_event,
	[VERBS_CREATE_SRQ] = verbs_create_srq,
	[VERBS_MODIFY_SRQ] = verbs_modify_srq,
	[VERBS_QUERY_SRQ] = verbs_query_srq,
	[VERBS_DESTROY_SRQ] = verbs_destroy_srq,
	[VERBS_POST_SRQ_RECV] = verbs_post_srq_recv,
	[VERBS_CREATE_QP] = verbs_create_qp,
	[VERBS_MODIFY_QP] = verbs_modify_qp,
	[VERBS_QUERY_QP] = verbs_query_qp,
	[VERBS_DESTROY_QP] = verbs_destroy_qp,
	[VERBS_POST_SEND] = verbs_post_send,
	[VERBS_POST_RECV] = verbs_post_recv,
	[VERBS_CREATE_AH] = verbs_create_ah,
	[VERBS_DESTROY_AH] = verbs_destroy_ah,
	[VERBS_ATTACH_MCAST] = verbs_attach_mcast,
	[VERBS_DETACH_MCAST] = verbs_detach_mcast,
	[VERBS_FORK] = verbs_fork,
};

/* Not yet, on the way to a cut (restart.c). */
static void wrote(void *upper, size_t len)
{
	host->out(upper, len);
}

static struct verbs_above above;
static bool forked; /* the provider has to be started again, if the child asks for it */

static void arrival(const struct verbs_arrival *a)
{
	struct verbs_note_arrival note = {.addr = (uint64_t)a->upper,
					  .len = a->len,
					  .source = shown_peer_number(a->source),
					  .dest = shown_qp_number(a->dest),
					  .number = a->number,
					  .offset = a->offset};
	host->note(RDB_NOTE_ARRIVAL, &note, sizeof(note));
}

static void completed(const struct verbs_completed *c)
{
	struct verbs_note_completed note = {.received = c->received, .solicited = c->solicited, .request = c->request};
	struct ibv_wc wc = c->wc;
	_Static_assert(sizeof(wc) == sizeof(note.wc), "struct ibv_wc");
	if (numbers_rebound && !c->received)
		note.request -= recreated_requests(wc.qp_num);
	wc.qp_num = shown_qp_number(wc.qp_num);
	memcpy(note.wc, &wc, sizeof(wc));
	host->note(RDB_NOTE_COMPLETED, &note, sizeof(note));
}

static void taken(uint32_t source, uint32_t dest, uint32_t number, uint64_t was)
{
	struct verbs_note_taken note = {
		.source = shown_peer_number(source), .dest = shown_qp_number(dest), .number = number, .was = was};
	host->note(RDB_NOTE_TAKEN, &note, sizeof(note));
}

static void happened(int type, void *handle)
{
	const struct object *o = object_of(handle, event_kind(type)), *context = object_context(o);
	if (!context)
		return;
	struct verbs_note_async note = {.context = context->id, .type = (uint32_t)type, .object = o->id};
	host->note(RDB_NOTE_ASYNC, &note, sizeof(note));
}

static const struct verbs_provider *started(const struct verbs_provider *p)
{
	int rc = p->start(&above);
	if (rc)
		host->warn("the %s HCA cannot be used: %s", p->name, strerror(-rc));
	return rc ? NULL : p;
}

static const struct verbs_provider *real_with_devices(void)
{
	struct verbs_device one;
	const struct verbs_provider *p = verbs_real ? verbs_real() : NULL;
	if (!p || p->start(&above))
		return NULL;
	if (p->devices(&one, 1) > 0)
		return p;
	p->stop();
	return NULL;
}

const struct verbs_provider *provider_choose(const char *hca)
{
	hca = hca ? hca : "auto";
	if (!strcmp(hca, "soft") && verbs_soft)
		return started(verbs_soft());
	if (!strcmp(hca, "real") && verbs_real)
		return started(verbs_real());
	if (strcmp(hca, "auto"))
		host->warn("this rdb was built without the %s HCA: the program finds no devices", hca);
	return !strcmp(hca, "auto") ? real_with_devices() : NULL;
}

static int plugin_init(const struct rdb_host *given)
{
	if (given->version != RDB_HOST_VERSION)
		return -EPROTO;
	host = given;
	above = (struct verbs_above){
		.wrote = wrote,
		.arrival = arrival,
		.completed = completed,
		.taken = taken,
		.happened = happened,
		.arrived = host->arrived,
		.device_memory = host->device_memory,
		.keep_descriptor = host->keep_descriptor,
		.warn = host->warn,
		.copy = host->copy,
		.key_file = host->hca_key,
	};
	provider = host->branch ? &provider_shadow : provider_choose(host->hca);
	const char *why = host->branch ? NULL : restart_join();
	if (why)
		host->fatal("its queue pairs cannot know those of the other ranks: %s", why);
	if (provider && !host->branch && provider->fork_status(false) != IBV_FORK_UNNEEDED)
		host->forks_break_dma();
	return 0;
}

/* Structs that calls read, at which argument; lists of work requests: work.c. */
static const struct {
	uint8_t arg, bytes;
} reads[VERBS_CALLS] = {
	[VERBS_BIND_MW] = {3, sizeof(struct ibv_mw_bind)},
	[VERBS_CREATE_CQ] = {1, sizeof(int)},
	[VERBS_RESIZE_CQ] = {1, sizeof(int)},
	[VERBS_CREATE_SRQ] = {1, sizeof(struct ibv_srq_init_attr)},
	[VERBS_MODIFY_SRQ] = {1, sizeof(struct ibv_srq_attr)},
	[VERBS_CREATE_QP] = {5, sizeof(struct ibv_qp_init_attr)},
	[VERBS_MODIFY_QP] = {1, sizeof(struct ibv_qp_attr)},
	[VERBS_CREATE_AH] = {1, sizeof(struct ibv_ah_attr)},
	[VERBS_ATTACH_MCAST] = {1, sizeof(union ibv_gid)},
	[VERBS_DETACH_MCAST] = {1, sizeof(union ibv_gid)},
};

/* What the program hands out with the call. */
static void say_what_is_sent(unsigned index, const uint64_t *args)
{
	if (!host->recording())
		return;
	if (reads[index].bytes)
		host->sent((const void *)args[reads[index].arg], reads[index].bytes);
	else if (index == VERBS_POST_SEND)
		verbs_sent((const void *)args[1]);
	else if (index == VERBS_POST_RECV || index == VERBS_POST_SRQ_RECV)
		verbs_receives((const void *)args[1]);
}

static int64_t plugin_call(uint32_t fn, uint32_t nargs, const uint64_t *args)
{
	unsigned index = fn & 0xffff;
	if (index >= VERBS_CALLS || !calls[index])
		host->fatal("verbs call number %u: the stub and the verbs plug-in differ", index);
	say_what_is_sent(index, args);
	if (forked && provider) {
		forked = false;
		provider = started(provider);
	}
	if (restart_posts_wait)
		restart_post();
	if (!provider && index != VERBS_DEVICES && index != VERBS_OPEN && index != VERBS_FORK)
		return -EIO;
	return calls[index](args);
}

static int plugin_progress(void)
{
	if (restart_posts_wait && !forked)
		restart_post();
	return provider && !forked ? provider->progress() : 0;
}

static bool plugin_brings(void)
{
	return host->branch || (provider && !provider->by_itself);
}

static bool plugin_quick(uint32_t fn, const uint64_t *args)
{
	return provider && provider->by_itself && !forked && !restart_posts_wait && verbs_polls_nothing(args);
}

static void plugin_in_child(void)
{
	objects_forget();
	forked = true;
	if (provider)
		provider->in_child();
}

__attribute__((visibility("default"))) const struct rdb_plugin rdb_plugin = {
	.version = RDB_HOST_VERSION,
	.name = "verbs",
	.init = plugin_init,
	.call = plugin_call,
	.progress = plugin_progress,
	.brings = plugin_brings,
	.quick = plugin_quick,
	.quick_index = VERBS_POLL_CQ,
	.in_child = plugin_in_child,
	.restart = plugin_restart,
};
