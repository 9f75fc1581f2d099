/* dlopen(3): thread-local storage of a library that is opened later is made for each thread when it is first used. */
#include "../observe.h"
#include <dlfcn.h>
#include <pthread.h>

static int *(*place)(void);
static pthread_barrier_t barrier;

static void *uses(void *arg)
{
	pthread_barrier_wait(&barrier); /* begun before the library is opened */
	pthread_barrier_wait(&barrier);
	int *mine = place();
	printf("thread: %d\n", *mine);
	*mine += 10;
	printf("thread: %d same %d\n", *place(), place() == mine);
	return arg;
}

int main(void)
{
	static const char source[] = "__thread int value = 32; __thread char room[5000];\n"
				     "int *place(void) { room[7]++; return &value; }\n";
	pthread_t thread;
	void *library;
	FILE *file = fopen("tls.c", "w");

	MUST(file && fputs(source, file) >= 0 && !fclose(file));
	if (system("gcc -shared -fPIC -o libtls.so tls.c"))
		skip("gcc");
	MUST(!pthread_barrier_init(&barrier, NULL, 2) && !pthread_create(&thread, NULL, uses, NULL));
	pthread_barrier_wait(&barrier);
	library = dlopen("./libtls.so", RTLD_NOW);
	MUST(library);
	place = (int *(*)(void))dlsym(library, "place");
	*place() = 1;
	pthread_barrier_wait(&barrier);
	MUST(!pthread_join(thread, NULL));
	printf("first: %d\n", *place());
	SAY(dlclose(library));
	printf("gone %d\n", dlopen("./libtls.so", RTLD_NOLOAD | RTLD_NOW) == NULL);
	return 0;
}
