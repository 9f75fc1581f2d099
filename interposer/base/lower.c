#include "base/lower.h"
#include "base/handed_on.h"
#include <stdarg.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CANNOT = 125 }; /* exit code: rdb itself failed */

const struct mode mode_pass = {.records = false};
struct lower lower = {.mode = &mode_pass};
volatile uint32_t halt_wanted;
bool counter_must_trap;
unsigned counter_sites_count;
void (*lower_at_fatal)(int exit_code, const char *text);
unsigned (*options_hand_on)(unsigned to, struct handed_on *out);

static void say(const char *fmt, va_list ap)
{
	char line[1024] = "rdb: ";
	int n = vsnprintf(line + 5, sizeof(line) - 7, fmt, ap);
	size_t len = 5 + (n < (int)sizeof(line) - 7 ? (size_t)n : sizeof(line) - 8);
	line[len++] = '\n';
	raw_syscall(SYS_write, 2, (long)line, (long)len, 0, 0, 0);
}

void rdb_warn(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
}

void rdb_fatal(const char *fmt, ...)
{
	char text[512];
	va_list ap;
	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (lower_at_fatal)
		lower_at_fatal(CANNOT, text);
	_exit(CANNOT);
}

void lower_block_signals(sigset_t *before)
{
	sigset_t all;
	sigfillset(&all);
	/* Not the faults: reading the counter in our own libc's clock_gettime is one, and a blocked fault kills. */
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	sigdelset(&all, SIGILL);
	sigdelset(&all, SIGFPE);
	sigprocmask(SIG_SETMASK, &all, before);
}
