/* Choice of the provider. */
#include "plugin.h"

#pragma weak verbs_soft
#pragma weak verbs_real

const struct rdb_host *host;
const struct verbs_provider *provider; /* NULL: there are no devices */
struct verbs_above provider_above;

const struct verbs_provider *provider_started(const struct verbs_provider *p)
{
	int rc = p->start(&provider_above);
	if (rc)
		host->warn("the %s HCA cannot be used: %s", p->name, strerror(-rc));
	return rc ? NULL : p;
}

static const struct verbs_provider *real_with_devices(void)
{
	struct verbs_device one;
	const struct verbs_provider *p = verbs_real ? verbs_real() : NULL;
	if (!p || p->start(&provider_above))
		return NULL;
	if (p->devices(&one, 1) > 0)
		return p;
	p->stop();
	return NULL;
}

const struct verbs_provider *provider_choose(const char *hca)
{
	hca = hca ? hca : "auto";
	if (!strcmp(hca, "soft") && verbs_soft)
		return provider_started(verbs_soft());
	if (!strcmp(hca, "real") && verbs_real)
		return provider_started(verbs_real());
	if (strcmp(hca, "auto"))
		host->warn("this rdb was built without the %s HCA: the program finds no devices", hca);
	return !strcmp(hca, "auto") ? real_with_devices() : NULL;
}
