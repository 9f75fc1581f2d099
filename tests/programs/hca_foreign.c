/* Processes that do not hold the key.  "hca_foreign SCENARIO". */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include "hca_test.h"

static struct qp q;

/* Two HCAs, each with a key of its own, never come together. */
static void other_key(void)
{
	q = qp_make(IBV_QPT_RC);
	qp_connect(&q);
	post_recv(&q, 3, buffer, 8);
	if (!me) {
		post_rdma(&q, 1, IBV_WR_RDMA_WRITE, buffer, 8, peer_buffer, peer_rkey);
		wait_wc(1, IBV_WC_RETRY_EXC_ERR);
	}
	barrier();
	CHECK(written == 0 && (me == 0 || qp_state(&q) == IBV_QPS_RTS));
}

static int dial(uint16_t port)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(fd >= 0 && !connect(fd, (struct sockaddr *)&to, sizeof(to)));
	return fd;
}

/* How much comes before the other end closes. */
static size_t until_closed(int fd, uint8_t *data, size_t room)
{
	size_t got = 0;
	ssize_t n;
	double until = now_s() + DEADLINE_S;
	for (;;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		CHECK(now_s() < until);
		if (poll(&p, 1, 100) <= 0)
			continue;
		n = read(fd, data + got, room - got);
		if (n <= 0)
			break;
		got += (size_t)n;
		CHECK(got < room);
	}
	close(fd);
	return got;
}

/* A stranger who knocks in many ways, while side 1 only makes progress. */
static void strangers(void)
{
	uint8_t data[4096], hello[56];
	const char *base = getenv("RDB_HCA_PORT");
	q = qp_make(IBV_QPT_RC);
	qp_connect(&q);
	uint16_t port = (uint16_t)((base ? atoi(base) : 20000) + (int)(q.peer.qpn >> 14));
	if (!me) {
		/* garbage */
		int fd = dial(port);
		memset(data, 0x55, sizeof(data));
		CHECK(write(fd, data, 100) == 100);
		CHECK(until_closed(fd, data, sizeof(data)) == 0);
		/* a good hello, a bad proof; then frames at once, without one */
		for (unsigned how = 0; how < 2; how++) {
			memset(hello, 0, sizeof(hello));
			memcpy(hello, "rdbhca\0\2", 8);
			fd = dial(port);
			CHECK(write(fd, hello, sizeof(hello)) == sizeof(hello));
			memset(data, how ? 1 : 0, 32 + 48);
			CHECK(write(fd, data, how ? 32 : 32 + 48) > 0);
			CHECK(until_closed(fd, data, sizeof(data)) <= sizeof(hello)); /* no proof of its */
		}
		/* says what it hears: no proof of one side is good for the other */
		fd = dial(port);
		CHECK(write(fd, hello, sizeof(hello)) == sizeof(hello));
		CHECK(recv(fd, data, sizeof(hello), MSG_WAITALL) == sizeof(hello));
		CHECK(write(fd, data, 32) == 32);
		CHECK(until_closed(fd, data, sizeof(data)) == 0);
		/* says nothing: closed after a while */
		fd = dial(port);
		CHECK(until_closed(fd, data, sizeof(data)) == 0);
		post_rdma(&q, 1, IBV_WR_RDMA_WRITE, buffer, 8, peer_buffer, peer_rkey);
		wait_wc(1, IBV_WC_SUCCESS);
	}
	barrier();
	CHECK(written == (me ? 8 : 0));
}

/* A key that others can read, and one that is too short, are no keys. */
static void careless_key(void)
{
	char path[4096];
	struct verbs_above above = {.wrote = wrote, .arrived = arrived, .warn = warn, .key_file = path};
	snprintf(path, sizeof(path), "%s.careless%d", getenv("HCA_KEY"), me);
	hca->close(context);
	hca->stop();
	context = NULL;
	FILE *f = fopen(path, "w");
	CHECK(f && fwrite("0123456789abcdef0123456789abcdef", 1, 32, f) == 32 && !fclose(f));
	CHECK(!chmod(path, 0644) && hca->start(&above) == -EACCES);
	CHECK(!chmod(path, 0600) && !truncate(path, 31) && hca->start(&above) == -EACCES);
	CHECK(!unlink(path) && !symlink("/etc/hostname", path) && hca->start(&above) == -ELOOP);
	CHECK(!unlink(path));
	OK(hca->start(&above)); /* there is none: it makes one */
	struct stat st;
	CHECK(!stat(path, &st) && (st.st_mode & 0777) == 0600 && st.st_size >= 32);
}

static const struct scenario all[] = {
	{"other_key", other_key},
	{"strangers", strangers},
	{"careless_key", careless_key},
};

int main(int argc, char **argv)
{
	static char second[4096];
	const char *name = argc > 1 ? argv[1] : "";
	if (!strcmp(name, "other_key")) {
		snprintf(second, sizeof(second), "%s.second", getenv("HCA_KEY"));
		key_files[1] = second;
	}
	return run_scenario(all, sizeof(all) / sizeof(*all), name);
}
