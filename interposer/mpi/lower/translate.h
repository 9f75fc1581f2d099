/* Constants that the program's side knows in the canonical ABI (Open MPI's), for a real MPI with another. */
#ifndef RDB_MPI_TRANSLATE_H
#define RDB_MPI_TRANSLATE_H
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef OPEN_MPI
/* The same: nothing to do. */
#define rank_in(rank) (rank)
#define rank_out(rank) (rank)
#define tag_in(tag) (tag)
#define tag_out(tag) (tag)
#define error_in(code) (code)
#define error_out(code) (code)
#else
#define rank_in real_rank_in
#define rank_out real_rank_out
#define tag_in real_tag_in
#define tag_out real_tag_out
#define error_in real_error_in
int error_out(int code);

int real_rank_in(int rank);
int real_rank_out(int rank);
int real_tag_in(int tag);
int real_tag_out(int tag);
int real_error_in(int code);
int real_error_out(int error_class);
#endif

/* What is to be translated of a function; generated. */
enum {
	TRANSLATE_VALUE_IN = 1,
	TRANSLATE_POINTER_OUT,
	TRANSLATE_POINTER_INOUT,
	TRANSLATE_ARRAY_IN,
	TRANSLATE_ARRAY_OUT,
	TRANSLATE_BUFFER,
	TRANSLATE_WEIGHT
};
#define TRANSLATION_RULES 8
#define TRANSLATION_ARGUMENTS 20

struct rule {
	uint8_t place, how, group, length; /* length: the argument that has the array's */
};
struct translation {
	bool plain; /* the result is no error code */
	struct rule rules[TRANSLATION_RULES];
};
struct group {
	long (*in)(long value), (*out)(long value);
};
extern const struct translation translations[];
extern const unsigned translation_count;
extern const struct group translate_groups[];

/* One call with translated arguments and result. */
int64_t translated_call(unsigned index, int64_t (*call)(const uint64_t *a), uint32_t nargs, const uint64_t *args);

#endif
