/* Calls that behave differently than without rdb.
 *
 * --lax: calls that the table does not know are passed on.  The log has their answer and, if the kernel can tell, each
 * page of the program that was written to meanwhile.
 */
#pragma once
#include "answer/syscall_table.h"
#include "crossing/event.h"

/* Call before and after such a call, while recording. */
void unknown_call_before(void);
void unknown_call_after(struct event *ev);
/* Warn, once for each call, that it is refused and the program may do something else instead. */
void refused_call(const struct row *row);
void refused_unknown(unsigned nr);
void refused_prctl(unsigned option, const char *why);
/* For a call with many requests: "CALL REQUEST". */
void refused_request(const char *call, uint32_t nr, unsigned request, int error, const char *why);
