/* getaddrinfo(3): numeric hosts and services, passive and canonical names, localhost, and the errors; getnameinfo back. */
#include "inet.h"
#include <netdb.h>

static void ask(const char *host, const char *service, int flags, int family, int type)
{
	struct addrinfo hints = {.ai_flags = flags, .ai_family = family, .ai_socktype = type}, *list, *a;
	int got = getaddrinfo(host, service, &hints, &list);
	char name[256], port[32];

	printf("%s %s: %d", host ? host : "-", service ? service : "-", got);
	if (got) {
		printf(" %s\n", gai_strerror(got));
		return;
	}
	for (a = list; a; a = a->ai_next) {
		MUST(!getnameinfo(a->ai_addr, a->ai_addrlen, name, sizeof name, port, sizeof port,
				  NI_NUMERICHOST | NI_NUMERICSERV));
		printf(" %d/%d/%d %s:%s", a->ai_family, a->ai_socktype, a->ai_protocol, name, port);
	}
	printf("\n");
	freeaddrinfo(list);
}

int main(void)
{
	ask("127.0.0.1", "80", AI_NUMERICHOST | AI_NUMERICSERV, AF_UNSPEC, SOCK_STREAM);
	ask("::1", "80", AI_NUMERICHOST, AF_UNSPEC, 0);
	ask("127.0.0.1", NULL, AI_NUMERICHOST, AF_INET6, SOCK_STREAM);
	ask("127.1", "8", AI_NUMERICHOST, AF_INET, SOCK_DGRAM);
	ask(NULL, "7", AI_PASSIVE, AF_INET, SOCK_STREAM);
	ask(NULL, "7", 0, AF_INET, SOCK_STREAM);
	ask("no number", "7", AI_NUMERICHOST, AF_INET, SOCK_STREAM);
	ask(NULL, NULL, 0, AF_INET, SOCK_STREAM);
	ask("127.0.0.1", "word", AI_NUMERICSERV, AF_INET, SOCK_STREAM);
	ask("127.0.0.1", "7", 0, 99, SOCK_STREAM);
	ask("localhost", "7", 0, AF_INET, SOCK_STREAM);
	ask("::ffff:1.2.3.4", "7", AI_NUMERICHOST, AF_INET6, SOCK_STREAM);
	return 0;
}
