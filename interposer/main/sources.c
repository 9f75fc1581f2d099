#include "main/sources.h"
#include "answer/clock.h"
#include "answer/instructions.h"
#include "answer/kept_files.h"
#include "answer/other_names.h"
#include "answer/undo.h"
#include "answer/vfork.h"
#include "base/chance.h"
#include "crossing/boundary.h"
#include "crossing/schedule.h"
#include "crossing/source.h"
#include "image/image.h"
#include "replay/call_names.h"
#include "replay/replica.h"
#include "restart/checkpoint/coordinated.h"
#include "restart/copies/file_numbers.h"
#include "restart/copies/own_files.h"
#include "restart/process/posix_timers.h"
#include "restart/memory/shared_again.h"
#include "restart/base/open_table.h"
#include "restart/live/live.h"
#include "task/baton.h"
#include "task/envoy.h"
#include "task/computation.h"
#include "task/polling.h"
#include "task/signals.h"
#include "task/thread.h"
#include "task/thread_images.h"
#include "text/registers.h"
#include "text/counter_sites.h"

static const struct source sources = {
	.syscall = syscall_event,
	.started = thread_started,
	.counter = counter_gate,
	.spin = spin_gate,
	.core = clock_call,
	.fault = signals_fault,
	.sent = signals_async,
	.asks = instructions_fault,
	.deliver = signals_want_delivery,
	.resume = signals_resume,
	.look = computation_looked_at,
	.polls = polling_asks,
	.polled = polling_answered,
	.time = polling_clock,
	.made_thread = signals_reclaim,
	.forked = threads_forked,
	.leaves = vfork_leaving,
	.name = call_name,
	.file_changes = kept_by_library,
	.file_made = undo_made,
	.own_place = own_place_of,
	.own_add = own_add,
	.quick_again = clock_fast_if_possible,
};

static const struct schedule baton = {
	.held = baton_held,
	.give = baton_give,
	.yield = baton_yield,
	.late = baton_late,
	.pick = chance_below,
	.block = baton_block_begin,
	.unblock = baton_block_end,
	.share = envoy_begin,
	.leave = envoy_leave,
	.open = baton_open,
	.visit = baton_visit,
	.remind = baton_remind_holder,
};

static const struct text_thread running = {
	.tls = replica_tls,
	.set_tls = replica_set_tls,
	.number = replica_thread,
	.in_gate = boundary_in_gate,
};

static const struct image_threads threads = {.take = threads_take, .put = threads_put};

static const struct other_names names = {
	.paths = own_paths,
	.lists = own_lists,
	.whole = open_whole_path,
	.own_place = own_place_of,
	.stat = file_numbers_out,
	.known_as = own_known_as,
	.hand_on = own_hand_on,
	.timer_create = posix_timer_create,
	.segment = shared_segment_now,
	.applied = shared_again_applied,
};

void sources_set(void)
{
	source = &sources;
	schedule = &baton;
	text_thread = &running;
	image_threads = &threads;
	other_names = &names;
	undo_checkpoint = coordinated_newest;
	open_owners = &live_owners;
}
