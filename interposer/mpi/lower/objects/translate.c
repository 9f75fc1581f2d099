/* Calls of an MPI whose constants differ from the canonical ABI (gen/translate.py). */
#include <stdlib.h>
#include "lower/objects/real.h"
#include "lower/objects/translate.h"
#include "type_constants.h"

#ifndef OPEN_MPI
enum { CANONICAL_IN_PLACE = 1, CANONICAL_UNWEIGHTED = 2, CANONICAL_WEIGHTS_EMPTY = 3 };

/* Codes that the program made are passed through; others become their class, since canonical codes are classes. */
int error_out(int code)
{
	int class = code, known;

	if (code == MPI_SUCCESS)
		return 0;
#ifdef MPICH_VERSION
	if (code & 0x40000000) /* made by MPI_Add_error_class or MPI_Add_error_code */
		return code;
#endif
	PMPI_Error_class(code, &class);
	known = real_error_out(class);
	return known == class && real_error_in(known) != class ? real_error_out(MPI_ERR_OTHER) : known;
}

void contents_in(int combiner, int *integers, int64_t n)
{
	type_constants(combiner, integers, n, real_order_in, real_distribution_in, real_darg_in);
}

void contents_out(int combiner, int *integers, int64_t n)
{
	type_constants(combiner, integers, n, real_order_out, real_distribution_out, real_darg_out);
}

static uint64_t buffer_in(uint64_t buffer)
{
	return buffer == CANONICAL_IN_PLACE ? (uint64_t)(uintptr_t)MPI_IN_PLACE : buffer;
}

static uint64_t weights_in(uint64_t weights)
{
	switch (weights) {
	case CANONICAL_UNWEIGHTED: return (uint64_t)(uintptr_t)MPI_UNWEIGHTED;
	case CANONICAL_WEIGHTS_EMPTY: return (uint64_t)(uintptr_t)MPI_WEIGHTS_EMPTY;
	default: return weights;
	}
}

static int *array_in(const int *given, int n, const struct group *group)
{
	int *array = needed(malloc((n > 0 ? (size_t)n : 1) * sizeof(*array)));

	for (int i = 0; given && i < n; i++)
		array[i] = (int)group->in(given[i]);
	return array;
}

/* Returns the number of arrays, which the caller frees. */
static unsigned arguments_in(const struct translation *translation, uint64_t *a, int **arrays)
{
	unsigned made = 0;

	for (const struct rule *rule = translation->rules; rule->how; rule++) {
		const struct group *group = &translate_groups[rule->group];
		uint64_t *arg = &a[rule->place];
		int n = (int)a[rule->length];

		switch (rule->how) {
		case TRANSLATE_VALUE_IN: *arg = (uint64_t)group->in((long)*arg); break;
		case TRANSLATE_BUFFER: *arg = buffer_in(*arg); break;
		case TRANSLATE_WEIGHT: *arg = weights_in(*arg); break;
		case TRANSLATE_ARRAY_IN:
			if (*arg)
				*arg = (uint64_t)(arrays[made++] = array_in((int *)*arg, n, group));
			break;
		}
	}
	return made;
}

/* Changes the program's memory without reporting it: the boundary reads reported bytes at the end of the event. */
static void arguments_out(const struct translation *translation, const uint64_t *a)
{
	for (const struct rule *rule = translation->rules; rule->how; rule++) {
		const struct group *group = &translate_groups[rule->group];
		int n = rule->how == TRANSLATE_ARRAY_OUT ? (int)a[rule->length] : 1;
		int *at = (int *)a[rule->place];

		if (rule->how != TRANSLATE_POINTER_OUT && rule->how != TRANSLATE_ARRAY_OUT)
			continue;
		for (int i = 0; at && i < n; i++)
			at[i] = (int)group->out(at[i]);
	}
}

int64_t translated_call(unsigned index, int64_t (*call)(const uint64_t *a), uint32_t nargs, const uint64_t *args)
{
	static const struct translation none;
	const struct translation *translation = index < translation_count ? &translations[index] : &none;
	uint64_t a[TRANSLATION_ARGUMENTS] = {0};
	int *arrays[TRANSLATION_RULES];
	int64_t result;
	unsigned made;

	if (nargs > TRANSLATION_ARGUMENTS)
		host->fatal("an MPI function with %u arguments, more than rdb supports", nargs);
	memcpy(a, args, nargs * sizeof(*a));
	made = arguments_in(translation, a, arrays);
	result = call(a);
	for (unsigned i = 0; i < made; i++)
		free(arrays[i]);
	if (translation->plain)
		return result;
	if ((int)result == MPI_SUCCESS)
		arguments_out(translation, a);
	return (int64_t)((uint64_t)result & 0xffffffff00000000u) | (uint32_t)error_out((int)result);
}
#endif
