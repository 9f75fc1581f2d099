/* State at the beginning of a branch, which is not in its log.  Files in the branch's directory: `verbs-objects` holds
 * the program's objects under the numbers it knows, and the requests that were posted again; `verbs-device` names the
 * device; `verbs-begun` is the plan's account for readers of the log (rdb/recording/verbs/begun.py). */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include "base/private.h"
#include "restart.h"

enum { MAGIC = 0x31736f76, MOST = 1 << 24, LONGEST = 1 << 20 };

struct saved_head {
	uint32_t magic, object_size, ids, nobjects, nrequests, ncounts, ngids, nlids, ngroups;
};

struct saved_request {
	struct plan_request request; /* its pointers are ignored */
	uint32_t nsge, ah, window, region;
};

static char text[4400];

static const char *wrong(const char *path, const char *what)
{
	snprintf(text, sizeof(text), "%s: %s", path, what);
	return text;
}

static void put_part(FILE *f, const void *bytes, size_t len)
{
	if (len)
		fwrite(bytes, len, 1, f);
}

static bool get_part(FILE *f, void *bytes, size_t len)
{
	return !len || fread(bytes, len, 1, f) == 1;
}

static bool saves(const struct plan_request *one)
{
	return one->have && restart_is_posted_again(one);
}

static bool is_datagram(const struct plan_request *one)
{
	const struct object *qp = one->send ? object_find(one->object, QP) : NULL;
	return qp && qp->made.qp.init.qp_type == IBV_QPT_UD;
}

/* ---- writing ---- */

static FILE *create(const char *name, char path[4200])
{
	snprintf(path, 4200, "%s/%s", host->branch, name);
	int fd = private_open(AT_FDCWD, path, O_WRONLY | O_EXCL | O_NOFOLLOW);
	return fd < 0 ? NULL : fdopen(fd, "w");
}

static const char *finish(FILE *f, const char *path)
{
	bool bad = ferror(f);
	return fclose(f) || bad ? wrong(path, strerror(errno)) : NULL;
}

static void save_object(FILE *f, const struct object *o)
{
	uint32_t parents[PARENTS] = {0};
	for (unsigned i = 0; i < PARENTS; i++)
		parents[i] = o->parents[i] ? o->parents[i]->id : 0;
	put_part(f, o, sizeof(*o));
	put_part(f, parents, sizeof(parents));
}

static void save_request(FILE *f, const struct plan_request *one)
{
	struct saved_request saved = {.request = *one};
	const struct ibv_send_wr *wr = one->send ? &one->wr.send : NULL;
	const struct ibv_sge *list = wr ? wr->sg_list : one->wr.recv.sg_list;
	const int n = wr ? wr->num_sge : one->wr.recv.num_sge;
	saved.nsge = n > 0 ? (uint32_t)n : 0;
	if (is_datagram(one))
		saved.ah = wr->wr.ud.ah->handle;
	if (wr && wr->opcode == IBV_WR_BIND_MW) {
		saved.window = wr->bind_mw.mw->handle;
		saved.region = wr->bind_mw.bind_info.mr ? wr->bind_mw.bind_info.mr->handle : 0;
	}
	put_part(f, &saved, sizeof(saved));
	put_part(f, list, saved.nsge * sizeof(*list));
	for (uint32_t i = 0; wr && (wr->send_flags & IBV_SEND_INLINE) && i < saved.nsge; i++)
		put_part(f, (const void *)list[i].addr, list[i].length);
}

static const char *save_objects(void)
{
	char path[4200];
	struct saved_head head = {.magic = MAGIC,
				  .object_size = sizeof(struct object),
				  .ids = objects_ids(),
				  .ncounts = restart.ncounts,
				  .ngids = restart.ngids,
				  .nlids = restart.nlids,
				  .ngroups = restart.ngroups};
	uint32_t next = 0;
	while (object_next(&next))
		head.nobjects++;
	for (unsigned i = 0; i < restart.plan.nrequests; i++)
		head.nrequests += saves(&restart.plan.requests[i]);
	FILE *f = create("verbs-objects", path);
	if (!f)
		return wrong(path, strerror(errno));
	put_part(f, &head, sizeof(head));
	put_part(f, restart.counts, restart.ncounts * sizeof(*restart.counts));
	put_part(f, restart.gids, restart.ngids * sizeof(*restart.gids));
	put_part(f, restart.lids, restart.nlids * sizeof(*restart.lids));
	put_part(f, restart.groups, restart.ngroups * sizeof(*restart.groups));
	next = 0;
	for (const struct object *o; (o = object_next(&next));)
		save_object(f, o);
	for (unsigned i = 0; i < restart.plan.nrequests; i++)
		if (saves(&restart.plan.requests[i]))
			save_request(f, &restart.plan.requests[i]);
	return finish(f, path);
}

/* Writes verbs-device and copies the plan's account to verbs-begun. */
static const char *save_account(void)
{
	char from[4200], path[4200], bytes[65536];
	struct verbs_device device = {0};
	uint32_t next = 0;
	size_t n;
	FILE *f = create("verbs-device", path);
	if (!f)
		return wrong(path, strerror(errno));
	if (provider->devices(&device, 1) > 0)
		fprintf(f, "%s\n", device.name);
	const char *why = finish(f, path);
	if (why)
		return why;
	snprintf(from, sizeof(from), "%s/verbs-begun-%d", restart.folder, host->rank);
	FILE *plan = fopen(from, "re");
	if (!plan) /* a rank that has asked for devices and opened none has no account */
		return errno == ENOENT && !object_next(&next) ? NULL : wrong(from, strerror(errno));
	f = create("verbs-begun", path);
	while (f && (n = fread(bytes, 1, sizeof(bytes), plan)))
		put_part(f, bytes, n);
	fclose(plan);
	return f ? finish(f, path) : wrong(path, strerror(errno));
}

const char *restart_save(void)
{
	const char *why = save_objects();
	return why ? why : save_account();
}

/* ---- reading ---- */

static bool load_objects(FILE *f, const struct saved_head *head)
{
	uint32_t(*parents)[PARENTS] = calloc(head->nobjects + 1ul, sizeof(*parents)), next = 0;
	bool good = parents;
	objects_ids_used(head->ids);
	for (uint32_t i = 0; good && i < head->nobjects; i++) {
		struct object o;
		good = get_part(f, &o, sizeof(o)) && get_part(f, parents[i], sizeof(parents[i])) && o.id &&
		       o.id <= head->ids;
		if (!good)
			break;
		o.handle = NULL;
		memset(o.parents, 0, sizeof(o.parents));
		if (o.kind == AH)
			o.made.ah.now = NULL;
		object_again(&o);
	}
	for (uint32_t i = 0; good && i < head->nobjects; i++) { /* objects were written in the order of their ids */
		struct object *o = object_next(&next);
		for (unsigned k = 0; o && k < PARENTS; k++) {
			uint32_t at = 0;
			struct object *parent = NULL;
			while (parents[i][k] && (parent = object_next(&at)) && parent->id != parents[i][k])
				continue;
			o->parents[k] = parent;
			if (parent)
				parent->users++;
			good = good && !parent == !parents[i][k];
		}
		good = good && o;
	}
	free(parents);
	return good;
}

static bool load_sges(FILE *f, const struct saved_request *saved, bool data, struct ibv_sge **out)
{
	struct ibv_sge *list = calloc(saved->nsge + 1ul, sizeof(*list));
	bool good = list && get_part(f, list, saved->nsge * sizeof(*list));
	for (uint32_t i = 0; good && data && i < saved->nsge; i++) {
		void *bytes = list[i].length <= LONGEST ? malloc(list[i].length + 1ul) : NULL;
		good = bytes && get_part(f, bytes, list[i].length);
		list[i].addr = (uint64_t)bytes;
	}
	*out = list;
	return good;
}

/* Keeps a request that is in the plan, as if the program had posted it. */
static bool load_request(FILE *f)
{
	struct saved_request saved;
	struct ibv_sge *list;
	if (!get_part(f, &saved, sizeof(saved)) || saved.nsge > MOST)
		return false;
	const struct plan_request *was = &saved.request;
	const bool data = was->send && (was->wr.send.send_flags & IBV_SEND_INLINE);
	if (!load_sges(f, &saved, data, &list))
		return false;
	struct plan_request *to = plan_request(&restart.plan, was->send, was->object, was->ordinal);
	if (!to)
		return true; /* done by now; `list` is not freed, it is small */
	to->have = true;
	to->wr = was->wr;
	if (!to->send) {
		to->wr.recv.next = NULL;
		to->wr.recv.sg_list = list;
		return true;
	}
	to->wr.send.next = NULL;
	to->wr.send.sg_list = list;
	if (is_datagram(to))
		to->wr.send.wr.ud.ah = restart_copied(&(struct ibv_ah){.handle = saved.ah}, sizeof(struct ibv_ah));
	if (to->wr.send.opcode == IBV_WR_BIND_MW) {
		struct ibv_mr region = {.handle = saved.region};
		to->wr.send.bind_mw.mw = restart_copied(&(struct ibv_mw){.handle = saved.window},
							sizeof(struct ibv_mw));
		to->wr.send.bind_mw.bind_info.mr = saved.region ? restart_copied(&region, sizeof(region)) : NULL;
	}
	return true;
}

const char *restart_load(const char *folder)
{
	char path[4200];
	struct saved_head head;
	snprintf(path, sizeof(path), "%s/verbs-objects", folder);
	FILE *f = fopen(path, "re");
	if (!f)
		return wrong(path, strerror(errno));
	bool good = get_part(f, &head, sizeof(head)) && head.magic == MAGIC &&
		    head.object_size == sizeof(struct object) && head.ids <= MOST && head.nobjects <= head.ids &&
		    head.ncounts <= MOST && head.ngids <= NUMBERS_GIDS && head.nlids <= NUMBERS_LIDS &&
		    head.ngroups <= RESTART_GROUPS;
	if (good) {
		restart.counts = calloc(head.ncounts + 1ul, sizeof(*restart.counts));
		restart.ncounts = head.ncounts;
		restart.ngids = head.ngids;
		restart.nlids = head.nlids;
		restart.ngroups = head.ngroups;
	}
	good = good && restart.counts && get_part(f, restart.counts, head.ncounts * sizeof(*restart.counts)) &&
	       get_part(f, restart.gids, head.ngids * sizeof(*restart.gids)) &&
	       get_part(f, restart.lids, head.nlids * sizeof(*restart.lids)) &&
	       get_part(f, restart.groups, head.ngroups * sizeof(*restart.groups)) && load_objects(f, &head);
	for (uint32_t i = 0; good && i < head.nrequests; i++)
		good = load_request(f);
	fclose(f);
	return good ? NULL : wrong(path, "it is damaged, or written by another version of rdb");
}
