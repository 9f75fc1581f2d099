/* Error classes and codes that the program adds.  The real MPI does not know them: the numbers, which the program keeps,
 * are the same over each MPI, and a restart has them again. */
#include <pthread.h>
#include "lower/objects/bytes.h"
#include "lower/objects/real.h"
#include "lower/objects/translate.h"
#include "lower/core/error_codes.h"

/* Numbers as MPICH makes them: above each MPI's MPI_ERR_LASTCODE; the low bits of a code are its class. */
enum { ADDED = 0x40000000, CLASSES = 0x7f, CODES = 0x7ff, CODE_SHIFT = 8, TEXT = 256 /* MPI_MAX_ERROR_STRING */ };

struct added {
	int number, class; /* of the canonical ABI; equal: it is a class */
	char text[TEXT];
};

static struct {
	pthread_mutex_t lock;
	struct added *list;
	int n, classes, codes, last;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct added *find(int number)
{
	for (int i = 0; i < all.n; i++)
		if (all.list[i].number == number)
			return &all.list[i];
	return NULL;
}

/* 0: there are too many. */
static int add(int class, bool is_class)
{
	if (is_class ? all.classes == CLASSES : all.codes == CODES)
		return 0;
	const int number = ADDED | (is_class ? ++all.classes : ++all.codes << CODE_SHIFT | (class & CLASSES));
	all.list = needed(realloc(all.list, (size_t)(all.n + 1) * sizeof(*all.list)));
	all.list[all.n++] = (struct added){.number = number, .class = is_class ? number : class};
	all.last = number > all.last ? number : all.last;
	return number;
}

static int added(int class, bool is_class, void *to)
{
	pthread_mutex_lock(&all.lock);
	const int number = add(class, is_class);
	pthread_mutex_unlock(&all.lock);
	if (!number)
		return MPI_ERR_OTHER;
	put(to, &number, sizeof(number));
	return MPI_SUCCESS;
}

/* Of a number that the program has not added this knows nothing, and the real MPI answers. */
static bool about(int number, struct added *out)
{
	pthread_mutex_lock(&all.lock);
	const struct added *one = find(number);
	if (one)
		*out = *one;
	pthread_mutex_unlock(&all.lock);
	return one;
}

int error_codes_last(void)
{
	return all.last;
}

/* errorclass */
int64_t real_Add_error_class(const uint64_t *a)
{
	return added(0, true, (void *)a[0]);
}

/* errorclass, errorcode */
int64_t real_Add_error_code(const uint64_t *a)
{
	struct added class;
	int real = (int)a[0];

	if (about(real, &class))
		return class.class == real ? added(real, false, (void *)a[1]) : MPI_ERR_ARG;
	if (PMPI_Error_class(real, &real) != MPI_SUCCESS || real != (int)a[0])
		return MPI_ERR_ARG;
	return added(error_out(real), false, (void *)a[1]);
}

/* errorcode, string */
int64_t real_Add_error_string(const uint64_t *a)
{
	pthread_mutex_lock(&all.lock);
	struct added *one = find((int)a[0]);
	if (one)
		snprintf(one->text, sizeof(one->text), "%s", (const char *)a[1]);
	pthread_mutex_unlock(&all.lock);
	return one ? MPI_SUCCESS : MPI_ERR_ARG;
}

/* errorcode, errorclass */
int64_t real_Error_class(const uint64_t *a)
{
	struct added one;
	int class, rc = MPI_SUCCESS;

	if (about((int)a[0], &one))
		class = error_in(one.class);
	else
		rc = PMPI_Error_class((int)a[0], &class);
	if (rc == MPI_SUCCESS)
		put((void *)a[1], &class, sizeof(class));
	return rc;
}

/* errorcode, string, resultlen */
int64_t real_Error_string(const uint64_t *a)
{
	struct added one;
	char text[MPI_MAX_ERROR_STRING] = "";
	int len, rc = MPI_SUCCESS;

	if (about((int)a[0], &one))
		len = snprintf(text, sizeof(text), "%s", one.text);
	else
		rc = PMPI_Error_string((int)a[0], text, &len);
	if (rc != MPI_SUCCESS)
		return rc;
	put((void *)a[1], text, strlen(text) + 1);
	put((void *)a[2], &len, sizeof(len));
	return rc;
}

void put_error_codes(struct bytes *out)
{
	put_number(out, all.n);
	for (int i = 0; i < all.n; i++) {
		put_number(out, all.list[i].number == all.list[i].class);
		put_number(out, all.list[i].class);
		put_text(out, all.list[i].text);
	}
}

void get_error_codes(struct bytes *in)
{
	for (int64_t n = get_number(in); n > 0 && !in->bad; n--) {
		const bool is_class = get_number(in);
		if (!add((int)get_number(in), is_class))
			in->bad = true;
		else
			get_text(in, all.list[all.n - 1].text, TEXT);
	}
}
