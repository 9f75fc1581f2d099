/* What the real provider makes of libibverbs' answers about fork(2): verbs_fork_status PROVIDER */
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include "provider.h"

static enum ibv_fork_status status;
static int inits, init_fails;

/* In place of libibverbs': the program's own come first. */
enum ibv_fork_status ibv_is_fork_initialized(void)
{
	return status;
}

int ibv_fork_init(void)
{
	inits++;
	return init_fails;
}

int main(int argc, char **argv)
{
	static const enum ibv_fork_status all[] = {IBV_FORK_DISABLED, IBV_FORK_ENABLED, IBV_FORK_UNNEEDED};
	void *so = dlopen(argv[1], RTLD_NOW);
	const struct verbs_provider *p = so ? dlsym(so, "rdb_verbs_real") : NULL;
	if (!p) {
		printf("%s\n", dlerror());
		return 1;
	}
	for (int i = 0; i < 3; i++) {
		status = all[i];
		printf("%d", p->fork_status(false) == (int)status && !inits);
	}
	int asked = p->fork_status(true);
	printf(" %d %d", asked == IBV_FORK_UNNEEDED, inits);
	init_fails = 22;
	asked = p->fork_status(true);
	printf(" %d %d\n", asked, inits);
	return 0;
}
