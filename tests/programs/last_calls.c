/* Functions whose last call, in the line with the comment, becomes a jump at -O2. */
#include <string.h>
#include <unistd.h>

#define APART __attribute__((noipa, noinline)) static

char direct[256], through[256], either[256], other[256], pointed[256], table[256], copied[256];
char called[256], switched[256];
static volatile size_t size = 100;
static volatile int seed = 3;
static char from[256];

APART void fill(char *p, int with)
{
	seed++;
	memset(p, with, size); // direct
}

APART void fill_through(char *p)
{
	seed++;
	memset(p, 2, size); // through
}

APART void goes_through(char *p)
{
	seed++;
	fill_through(p);
}

APART void one_of_two(char *p, int first)
{
	seed++;
	if (first)
		memset(p, 3, size); // either
	else
		memcpy(p, from, size); // other
}

APART void fill_pointed(char *p)
{
	seed++;
	memset(p, 4, size); // pointed
}

static void (*volatile pointer)(char *) = fill_pointed;
APART void goes_where_it_points(char *p)
{
	seed++;
	pointer(p);
}

struct object {
	void (*const *ways)(char *);
};

APART void fill_table(char *p)
{
	seed++;
	memset(p, 5, size); // table
}

static void (*const ways[])(char *) = {goes_through, fill_table};
static struct object object = {ways};
APART void goes_by_table(struct object *of, char *p)
{
	seed++;
	of->ways[1](p);
}

APART void copy(char *p)
{
	from[3] = (char)seed;
	memcpy(p, from, size); // copied
}

APART int just_calls(char *p)
{
	memset(p, 6, size); // called
	return ++seed;
}

APART void switches(char *p, int way)
{
	seed++;
	switch (way) {
	case 0: return fill(p, 1);
	case 1: return goes_through(p);
	case 2: return copy(p);
	case 3: return goes_where_it_points(p);
	case 4:
		memset(p, 7, size); // switched
		return;
	case 5: return one_of_two(p, seed);
	}
}

APART void says(const char *text)
{
	seed++;
	write(1, text, strlen(text)); // says
}

int main(int argc, char **argv)
{
	(void)argv;
	memset(from, 9, sizeof(from));
	getppid();
	fill(direct, 1);
	goes_through(through);
	one_of_two(either, argc);
	one_of_two(other, argc - 1);
	getppid();
	goes_where_it_points(pointed);
	goes_by_table(&object, table);
	copy(copied);
	just_calls(called);
	switches(switched, argc + 3);
	getppid();
	says("here\n");
	return 0;
}
