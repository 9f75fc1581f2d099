/* Ports of MPI_Open_port that are open at the cut of a restart, and names that are published.  The launcher is another one:
 * ports are opened again and have other names there, which the program does not see. */
#ifndef RDB_MPI_PORTS_H
#define RDB_MPI_PORTS_H
#include "restart.h"

/* On the way, also of a branch's beginning: is it a call that this file is about, and it was successful. */
bool ports_concern(unsigned index);
void ports_followed(unsigned index, const uint64_t *a);
/* In all ranks, at the cut: each then knows what the ports of all are called now. */
const char *ports_cut(void);

/* Some port has another name below than the program knows. */
extern bool ports_renamed;
/* What a call of the program is given, with the names of now; and what it is told, with those that it knows. */
const uint64_t *ports_given(unsigned index, const uint64_t *a, uint64_t *changed);
void ports_told(unsigned index, const uint64_t *a, int64_t result);

#endif
