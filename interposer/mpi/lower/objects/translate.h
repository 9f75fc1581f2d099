/* Translation of constants between the canonical ABI (Open MPI's) and a real MPI with other ones. */
#pragma once
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef OPEN_MPI
/* Same constants. */
#define rank_in(rank) (rank)
#define rank_out(rank) (rank)
#define tag_in(tag) (tag)
#define tag_out(tag) (tag)
#define error_in(code) (code)
#define error_out(code) (code)
#define contents_in(combiner, integers, n) ((void)0)
#define contents_out(combiner, integers, n) ((void)0)
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
int real_order_in(int order);
int real_order_out(int order);
int real_distribution_in(int distribution);
int real_distribution_out(int distribution);
int real_darg_in(int argument);
int real_darg_out(int argument);
/* The n integers of MPI_Type_get_contents. */
void contents_in(int combiner, int *integers, int64_t n);
void contents_out(int combiner, int *integers, int64_t n);
#endif

/* Generated rules: which arguments of a function are translated, and how. */
enum {
	TRANSLATE_VALUE_IN = 1,
	TRANSLATE_POINTER_OUT,
	TRANSLATE_ARRAY_IN,
	TRANSLATE_ARRAY_OUT,
	TRANSLATE_BUFFER,
	TRANSLATE_WEIGHT
};
#define TRANSLATION_RULES 8
#define TRANSLATION_ARGUMENTS 20

struct rule {
	uint8_t place, how, group, length; /* length: index of the argument with the array's length */
};
struct translation {
	bool plain; /* the result is not an error code */
	struct rule rules[TRANSLATION_RULES];
};
struct group {
	long (*in)(long value), (*out)(long value);
};
extern const struct translation translations[];
extern const unsigned translation_count;
extern const struct group translate_groups[];

/* Makes a call with translated arguments, and translates its outputs and result. */
int64_t translated_call(unsigned index, int64_t (*call)(const uint64_t *a), uint32_t nargs, const uint64_t *args);
