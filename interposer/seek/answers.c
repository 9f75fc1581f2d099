#include "seek/answers.h"
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include "arch/registers.h"
#include "seek/arrays.h"
#include "seek/changes.h"
#include "seek/channel.h"
#include "seek/lookout.h"
#include "seek/output.h"
#include "text/registers.h"
#include "seek/stepping.h"
#include "seek/undo_log.h"
#include "space/patches.h"
#include "space/upper_memory.h"
#include "text/hot_stubs.h"
#include "base/lower.h"
#include "space/arena.h"
#include "replay/replica.h"

#define READ_MAX 65536

void answer_hello(void)
{
	struct replica_info info;
	struct agent_hello h = {.version = AGENT_VERSION, .event = replica_event()};

	replica_info(&info);
	h.pid = (int32_t)raw_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
	h.last_event = info.last_event;
	h.end_kind = info.end_kind;
	h.end_value = info.end_value;
	h.entry = info.entry;
	h.auxv_addr = info.auxv_addr;
	h.auxv_len = info.auxv_len;
	h.interp_base = info.interp_base;
	channel_reply(0, &h, sizeof(h));
}

void answer_read_memory(uint64_t addr, uint64_t len, uint64_t step)
{
	size_t n;

	if (len > READ_MAX)
		len = READ_MAX;
	if (!RDB_IS_UPPER(addr))
		len = 0;
	else if (!rdb_is_upper_range(addr, len))
		len = rdb_upper_end(addr) - addr;
	n = upper_read(addr, channel.answer, len);
	patches_hide(PATCH_HOT, addr, channel.answer, n);
	if (step)
		undo_log_apply(step - 1, addr, channel.answer, n);
	channel_reply((int64_t)n, channel.answer, n);
}

void answer_array(size_t len)
{
	static struct agent_array plan;
	struct agent_array_found found;

	if (len != sizeof(plan)) {
		channel_reply(-EINVAL, NULL, 0);
		return;
	}
	memcpy(&plan, channel.payload, sizeof(plan));
	int rc = arrays_fold(&plan, &found);
	channel_reply(rc == -EFAULT ? 1 : rc, &found, sizeof(found));
}

void answer_lookout(uint64_t number, size_t len)
{
	static struct agent_lookout wanted;

	if (len != sizeof(wanted)) {
		channel_reply(-EINVAL, NULL, 0);
		return;
	}
	memcpy(&wanted, channel.payload, sizeof(wanted));
	channel_reply(lookout_set(number, &wanted), NULL, 0);
}

void answer_seen(void)
{
	const struct agent_seen *list;
	uint64_t checked;
	unsigned n = lookout_seen(&list, &checked);

	channel_reply((int64_t)checked, list, n * sizeof(*list));
}

void answer_write_memory(uint64_t addr, size_t len)
{
	bool upper = rdb_is_upper_range(addr, len);

	replica_changed();
	if (upper)
		hot_sites_restore(addr, len);
	channel_reply(upper && upper_write(addr, channel.payload, len) == len ? 0 : -EFAULT, NULL, 0);
}

void answer_get_registers(const ucontext_t *uc)
{
	static struct replica_thread_info other;
	struct agent_regs *regs = (struct agent_regs *)channel.answer;

	if (channel.rq.a == 0 || channel.rq.a == replica_thread()) {
		registers_get_all(uc, regs);
	} else if (replica_other_thread((uint32_t)channel.rq.a, &other)) {
		registers_get_all(&other.uc, regs);
		registers_belong(&regs->gpr, other.tls, other.number);
	} else {
		channel_reply(-ESRCH, NULL, 0);
		return;
	}
	channel_reply(0, regs, sizeof(*regs));
}

void answer_set_registers(ucontext_t *uc)
{
	int rc = -EINVAL;

	replica_changed();
	if (channel.rq.a != 0 && channel.rq.a != replica_thread())
		rc = -EBUSY;
	else if (channel.rq.len == sizeof(struct agent_regs))
		rc = registers_set_all(uc, (const struct agent_regs *)channel.payload);
	channel_reply(rc, NULL, 0);
}

struct map_list {
	uint64_t skip;
	unsigned n;
};

static int add_map(const struct mapping *m, void *arg)
{
	struct map_list *list = arg;
	struct agent_map *to = (struct agent_map *)channel.answer + list->n;

	if (list->skip) {
		list->skip--;
		return 0;
	}
	if ((list->n + 1) * sizeof(*to) > READ_MAX)
		return 1;
	*to = (struct agent_map){.start = m->start, .end = m->end, .prot = (uint32_t)m->prot};
	list->n++;
	return 0;
}

void answer_maps(uint64_t from)
{
	struct map_list list = {.skip = from};
	int rc = arena_each(add_map, &list);

	if (rc < 0)
		channel_reply(rc, NULL, 0);
	else
		channel_reply(list.n, channel.answer, list.n * sizeof(struct agent_map));
}

void answer_threads(const ucontext_t *uc)
{
	static struct replica_thread_info info;
	struct agent_thread *list = (struct agent_thread *)channel.answer;
	unsigned n = 0;

	for (uint32_t t = 0; (t = replica_next_thread(t)) && (n + 1) * sizeof(*list) <= READ_MAX; n++) {
		replica_other_thread(t, &info);
		list[n] = (struct agent_thread){.number = t, .tid = info.tid, .state = info.state};
		list[n].pc = uc_pc(t == replica_thread() ? uc : &info.uc);
		memcpy(list[n].name, info.name, sizeof(info.name));
	}
	channel_reply(n, list, n * sizeof(*list));
}

void answer_trace(uint64_t step)
{
	const struct agent_gpr *part[2];
	unsigned count[2];
	struct iovec iov[2];

	if (!stepping_trace(step, part, count)) {
		channel_reply(-ENODATA, NULL, 0);
		return;
	}
	for (unsigned i = 0; i < 2; i++)
		iov[i] = (struct iovec){(void *)part[i], count[i] * sizeof(*part[i])};
	channel_reply_parts(0, iov, 2);
}

void answer_traced_at(uint64_t before, uint64_t first, uint64_t end, bool inside)
{
	uint64_t step;

	channel_reply(stepping_traced_at(first, end, inside, before, &step) ? (int64_t)step : -ENOENT, NULL, 0);
}

void answer_changes(void)
{
	const struct agent_change *list;
	unsigned n = changes(&list);

	channel_reply(n, list, n * sizeof(*list));
}

void answer_output(void)
{
	struct agent_output piece;
	const void *bytes;

	if (!channel.rq.b) {
		output_keep(channel.rq.a);
		channel_reply(0, NULL, 0);
	} else if (output_next(&piece, &bytes)) {
		struct iovec iov[2] = {{&piece, sizeof(piece)}, {(void *)bytes, piece.len}};

		channel_reply_parts(1, iov, 2);
	} else {
		channel_reply(0, NULL, 0);
	}
}

void answer_question(void)
{
	struct agent_asked asked;

	if (replica_asked(&asked))
		channel_reply(0, &asked, sizeof(asked));
	else
		channel_reply(-ENODATA, NULL, 0);
}
