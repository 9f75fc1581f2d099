/* Reports memory that an MPI call reads to the boundary, before the call (space/sent.h).  gen/sent.py generates a
 * function for each call from these. */
#pragma once
#include "lower/objects/real.h"

/* Arguments are canonical here, whichever the real MPI is. */
#define SENT_IN_PLACE ((const char *)1)
enum { SENT_ROOT = -4 };

void sent_typed(const char *buf, int64_t count, struct vtype *type);
void sent_array(const char *array, int64_t n, size_t size);
void sent_string(const char *text);
/* n strings; -1: up to a NULL. */
void sent_strings(char *const *strings, int n);
int sent_dims(const struct vcomm *comm);
int64_t sent_last(const int *array, int n);
int64_t sent_sum(const int *array, int n);
void sent_by_Start(const uint64_t *a);
void sent_by_Startall(const uint64_t *a);
void sent_by_Pready(const uint64_t *a);
void sent_by_Pready_range(const uint64_t *a);
void sent_by_Pready_list(const uint64_t *a);

static inline bool sent_root(const struct vcomm *comm, int root)
{
	return comm->inter ? root == SENT_ROOT : root == comm->rank;
}

/* One piece for each peer.  Counts and displacements are int or larger. */
#define SENT_EACH(buf, counts, displs, type, n) \
	({ \
		struct vtype *type_ = (type); \
		for (int n_ = (n), i_ = 0; (counts) && (displs) && i_ < n_; i_++) \
			sent_typed((buf) + (displs)[i_] * type_->extent, (counts)[i_], type_); \
	})
#define SENT_EACH_TYPE(buf, counts, displs, types, n) \
	({ \
		for (int n_ = (n), i_ = 0; (counts) && (displs) && (types) && i_ < n_; i_++) \
			sent_typed((buf) + (displs)[i_], (counts)[i_], type_of(rdb_id(RDB_TYPE, (types)[i_]))); \
	})
