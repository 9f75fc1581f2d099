/* Bytes that had come in a program's sockets and were not read when a checkpoint without a log was taken.  The reading
 * rank tells the other ranks, and the other end writes them again. */
#pragma once
#include <stdio.h>
#include "restart/sockets/sockets.h"

/* Takes ownership of `bytes`, of malloc(3). */
void unread_had(const struct sock *s, uint8_t *bytes, uint64_t len);
/* Writes them to the file by which ranks meet; reads a line of another rank's.  False: it is another kind of line. */
void unread_write_down(FILE *f);
bool unread_line(const char *line);
/* Unread bytes of one of our sockets, in *bytes (unless NULL).  Returns their number. */
uint64_t unread_of(const struct sock *s, const uint8_t **bytes);
/* Once all is known: sets for each socket what it had written and the other end has not read. */
void unread_known(void);
