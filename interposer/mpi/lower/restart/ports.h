/* Ports that are open at the cut of a restart (MPI_Open_port), and published names.  Ports are opened again under a new
 * launcher and have other names there, which the program does not see. */
#pragma once
#include "lower/restart/restart.h"

/* Whether a call is about ports; and such a call, which was successful in the recording, on the way to the cut. */
bool ports_concern(unsigned index);
void ports_followed(unsigned index, const uint64_t *a);
/* At the cut, in all ranks: opens ports again, and learns the new names of all ports.  NULL, or why not. */
const char *ports_cut(void);

/* Some port has another name than the program knows. */
extern bool ports_renamed;
/* Arguments of a call with new names in place of those that the program knows (in `changed`); and the reverse, for the
 * output of MPI_Lookup_name. */
const uint64_t *ports_given(unsigned index, uint32_t nargs, const uint64_t *a, uint64_t *changed);
void ports_told(unsigned index, const uint64_t *a, int64_t result);
