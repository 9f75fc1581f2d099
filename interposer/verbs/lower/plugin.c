/* The plug-in's interface to the boundary: provider and dispatch of calls. */
#include "numbers.h"
#include "plugin.h"
#include "completion_buffers.h"

static verbs_fn *const calls[VERBS_CALLS] = {
#define CALL(number, function, name) [VERBS_##number] = verbs_##function,
#include "calls.def"
#undef CALL
};

static verbs_fn *const ends[] = {
	[PD] = verbs_dealloc_pd, [MR] = verbs_dereg_mr,     [MW] = verbs_dealloc_mw,
	[CQ] = verbs_destroy_cq, [SRQ] = verbs_destroy_srq, [CHANNEL] = verbs_destroy_channel,
	[QP] = verbs_destroy_qp, [AH] = verbs_destroy_ah,
};

/* A function of its own because `host` changes: on the way to a cut, its `out` does nothing (restart.c). */
static void wrote(void *upper, size_t len)
{
	host->out(upper, len);
}

static bool forked; /* in a child: the provider must be started again before the next call */

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

static int plugin_init(const struct rdb_host *given)
{
	if (given->version != RDB_HOST_VERSION)
		return -EPROTO;
	host = given;
	object_ends = ends;
	provider_above = (struct verbs_above){
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
		host->fatal("the queue pairs of the other ranks are not known: %s", why);
	if (provider && !host->branch && provider->fork_status(false) != IBV_FORK_UNNEEDED)
		host->forks_break_dma();
	return 0;
}

/* Structs that calls read: argument and size.  Lists of work requests: work.c. */
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

/* Reports the memory of the program that the call reads. */
static void say_what_is_sent(unsigned index, const uint64_t *args)
{
	if (!host->recording())
		return;
	if (reads[index].bytes)
		host->sent((const void *)args[reads[index].arg], reads[index].bytes);
	else if (index == VERBS_ADVISE_MR)
		host->sent((const void *)args[3], args[4] * sizeof(struct ibv_sge));
	else if (index == VERBS_POST_SEND)
		verbs_sent((const void *)args[1]);
	else if (index == VERBS_POST_RECV || index == VERBS_POST_SRQ_RECV)
		verbs_receives((const void *)args[1]);
}

static int64_t plugin_call(uint32_t fn, uint32_t nargs, const uint64_t *args)
{
	unsigned index = fn & 0xffff;
	if (index >= VERBS_CALLS || !calls[index])
		host->fatal("verbs call number %u: rdb's verbs stub and verbs plug-in are of different versions",
			    index);
	say_what_is_sent(index, args);
	if (forked && provider) {
		forked = false;
		provider = provider_started(provider);
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

static const char *plugin_device_files(void)
{
	return provider && provider->files ? provider->files() : NULL;
}

static void plugin_in_child(void)
{
	completion_buffers_forget();
	objects_forget();
	restart_posts_wait = false; /* the requests are those of the parent's queue pairs */
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
	.device_files = plugin_device_files,
	.in_child = plugin_in_child,
	.restart = plugin_restart,
};
