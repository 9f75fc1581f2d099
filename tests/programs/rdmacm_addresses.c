/* rdma_getaddrinfo(3): the hints' addresses where neither a node nor a service is given, and a source address. */
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "check_errno.h"

static struct sockaddr_in from = {.sin_family = AF_INET}, to = {.sin_family = AF_INET};

static bool is(const struct sockaddr *a, socklen_t len, const struct sockaddr_in *want)
{
	return want ? len == sizeof(*want) && a != (const struct sockaddr *)want && !memcmp(a, want, len) : !a && !len;
}

static void only_hints(int flags, enum ibv_qp_type type, enum rdma_port_space space, bool has_source,
		       bool has_destination)
{
	struct rdma_addrinfo *res = NULL, hints = {.ai_flags = flags,
						   .ai_family = AF_INET,
						   .ai_qp_type = (int)type,
						   .ai_port_space = (int)space,
						   .ai_src_addr = (struct sockaddr *)&from,
						   .ai_src_len = has_source ? sizeof(from) : 0,
						   .ai_dst_addr = (struct sockaddr *)&to,
						   .ai_dst_len = has_destination ? sizeof(to) : 0};
	CHECK(!rdma_getaddrinfo(NULL, NULL, &hints, &res));
	CHECK(res && !res->ai_next && res->ai_flags == flags && res->ai_family == AF_INET);
	CHECK(res->ai_qp_type == (int)type && res->ai_port_space == (int)space);
	CHECK(is(res->ai_src_addr, res->ai_src_len, has_source ? &from : NULL));
	CHECK(is(res->ai_dst_addr, res->ai_dst_len, has_destination ? &to : NULL));
	rdma_freeaddrinfo(res);
}

int main(void)
{
	struct rdma_addrinfo *res = NULL;
	from.sin_addr.s_addr = to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	from.sin_port = htons(7001);
	to.sin_port = htons(7002);
	CHECK(rdma_getaddrinfo(NULL, NULL, NULL, &res) == -1 && errno == EINVAL);
	for (int way = 0; way < 8; way++) {
		only_hints(way & 1 ? RAI_PASSIVE : 0, IBV_QPT_RC, RDMA_PS_TCP, way & 2, way & 4);
		only_hints(way & 1 ? RAI_PASSIVE : 0, IBV_QPT_UD, RDMA_PS_UDP, way & 2, way & 4);
	}
	struct rdma_addrinfo source = {.ai_src_addr = (struct sockaddr *)&from, .ai_src_len = sizeof(from)};
	CHECK(!rdma_getaddrinfo("127.0.0.1", "7002", &source, &res));
	CHECK(is(res->ai_src_addr, res->ai_src_len, &from) && is(res->ai_dst_addr, res->ai_dst_len, &to));
	rdma_freeaddrinfo(res);
	/* such an address makes an endpoint */
	struct rdma_cm_id *id;
	struct rdma_addrinfo passive = {.ai_flags = RAI_PASSIVE,
					.ai_family = AF_INET,
					.ai_qp_type = IBV_QPT_RC,
					.ai_port_space = RDMA_PS_TCP,
					.ai_src_addr = (struct sockaddr *)&from,
					.ai_src_len = sizeof(from)};
	from.sin_port = 0;
	CHECK(!rdma_getaddrinfo(NULL, NULL, &passive, &res) && !rdma_create_ep(&id, res, NULL, NULL));
	CHECK(!rdma_listen(id, 1) && rdma_get_src_port(id));
	rdma_destroy_ep(id);
	rdma_freeaddrinfo(res);
	puts("done");
	return 0;
}
