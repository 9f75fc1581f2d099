/* What had come in a program's sockets and was not read when it was checkpointed without a log.  Who reads says so to the
 * other ranks, and the other end writes it again. */
#ifndef RDB_UNREAD_H
#define RDB_UNREAD_H
#include <stdio.h>
#include "restart/sockets.h"

/* Takes over bytes, of malloc(3). */
void unread_had(const struct sock *s, uint8_t *bytes, uint64_t len);
/* In the file by which ranks meet; a line of another's.  False: it is none of these. */
void unread_write_down(FILE *f);
bool unread_line(const char *line);
/* What one of ours had, in *bytes (NULL: that is not asked for): so many. */
uint64_t unread_of(const struct sock *s, const uint8_t **bytes);
/* All is known: what each socket had written and the other end has not read. */
void unread_known(void);

#endif
