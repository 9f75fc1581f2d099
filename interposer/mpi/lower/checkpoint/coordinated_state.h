/* Saving and loading the MPI objects of an image. */
#pragma once
#include "lower/objects/bytes.h"
#include "lower/core/drained.h"
#include "lower/core/kept.h"
#include "lower/core/requests.h"
#include "lower/checkpoint/coordinated.h"

/* coordinated_types.c.  *own: the type was made for the caller, who frees it. */
void put_type(struct bytes *out, MPI_Datatype type);
MPI_Datatype get_type(struct bytes *in, bool *own);
/* Whether get_type() can make it again. */
bool type_known(MPI_Datatype type);
/* coordinated_comms.c */
void put_group(struct bytes *out, MPI_Group group);
MPI_Group get_group(struct bytes *in);
void put_comms(struct bytes *out);
void get_comms(struct bytes *in);
/* coordinated_objects.c: the program's groups, datatypes, operations and infos */
void put_info(struct bytes *out, MPI_Info info);
MPI_Info get_info(struct bytes *in);
void put_others(struct bytes *out);
void get_others(struct bytes *in);
/* coordinated_windows_state.c */
void put_windows(struct bytes *out);
void get_windows(struct bytes *in);
/* coordinated_requests.c */
void put_requests(struct bytes *out);
void get_request(struct bytes *in);
