// Two threads hand a turn to each other and wait for it with std::atomic, in each order of memory that there is for it.
// argv: way, steps.  Prints how often the turn was had, and a sum that both have made.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

static std::atomic<int> turn;
static unsigned long had, sum;

template <std::memory_order Load, std::memory_order Store> struct by_load {
	static void await(int me)
	{
		while (turn.load(Load) != me)
			;
	}
	static void pass(int to) { turn.store(to, Store); }
};

template <std::memory_order Success, std::memory_order Failure> struct by_exchange {
	static void await(int me)
	{
		int mine = me;
		while (!turn.compare_exchange_weak(mine, me + 2, Success, Failure))
			mine = me;
	}
	static void pass(int to) { turn.exchange(to, Success); }
};

template <std::memory_order Add> struct by_add {
	static void await(int me)
	{
		while (turn.fetch_add(0, Add) != me)
			;
	}
	static void pass(int to) { turn.fetch_add(to ? 1 : -1, Add); }
};

class flag_lock
{
	std::atomic_flag taken = ATOMIC_FLAG_INIT;

      public:
	void lock()
	{
		while (taken.test_and_set(std::memory_order_acquire))
			;
	}
	void unlock() { taken.clear(std::memory_order_release); }
};

static flag_lock flag;
static std::mutex mutex;

template <typename Lock, Lock *lock> struct by_lock {
	static void await(int me)
	{
		for (bool mine = false; !mine;) {
			std::lock_guard<Lock> guard(*lock);
			mine = turn.load(std::memory_order_relaxed) == me;
		}
	}
	static void pass(int to)
	{
		std::lock_guard<Lock> guard(*lock);
		turn.store(to, std::memory_order_relaxed);
	}
};

struct by_try {
	static void await(int me)
	{
		for (bool mine = false; !mine;) {
			std::unique_lock<std::mutex> guard(mutex, std::try_to_lock);
			mine = guard && turn.load(std::memory_order_relaxed) == me;
		}
	}
	static void pass(int to)
	{
		std::lock_guard<std::mutex> guard(mutex);
		turn.store(to, std::memory_order_relaxed);
	}
};

static int steps;

template <typename Way> static void run(int me)
{
	for (int i = 0; i < steps; i++) {
		Way::await(me);
		std::atomic_thread_fence(std::memory_order_acquire);
		had++;
		sum = sum * 3 + (unsigned)me;
		std::atomic_thread_fence(std::memory_order_release);
		Way::pass(!me);
	}
}

template <typename Way> static void both()
{
	std::thread other(run<Way>, 1);
	run<Way>(0);
	other.join();
}

static constexpr auto relaxed = std::memory_order_relaxed, consume = std::memory_order_consume,
		      acquire = std::memory_order_acquire, release = std::memory_order_release,
		      both_ways = std::memory_order_acq_rel, ordered = std::memory_order_seq_cst;

static const struct {
	const char *name;
	void (*both)();
} ways[] = {
	{"relaxed", both<by_load<relaxed, relaxed>>},
	{"consume", both<by_load<consume, release>>},
	{"acquire", both<by_load<acquire, release>>},
	{"ordered", both<by_load<ordered, ordered>>},
	{"exchange-relaxed", both<by_exchange<relaxed, relaxed>>},
	{"exchange-acquire", both<by_exchange<acquire, relaxed>>},
	{"exchange-both", both<by_exchange<both_ways, acquire>>},
	{"exchange-ordered", both<by_exchange<ordered, ordered>>},
	{"add-relaxed", both<by_add<relaxed>>},
	{"add-both", both<by_add<both_ways>>},
	{"add-ordered", both<by_add<ordered>>},
	{"flag", both<by_lock<flag_lock, &flag>>},
	{"mutex", both<by_lock<std::mutex, &mutex>>},
	{"try", both<by_try>},
};

int main(int argc, char **argv)
{
	steps = argc > 2 ? atoi(argv[2]) : 0;
	for (const auto &way : ways)
		if (argc > 1 && !strcmp(way.name, argv[1])) {
			way.both();
			printf("%lu %lu\n", had, sum);
			return 0;
		}
	return 2;
}
