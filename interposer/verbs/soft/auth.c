/* The handshake and the key. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "conn.h"
#include "wire.h"

static const char context[] = "rdb software HCA 1";

/* Makes the key file atomically: link() fails for all processes but the first. */
static int make_key_file(const char *path)
{
	char temporary[4096];
	uint8_t secret[HCA_KEY_BYTES];
	if (snprintf(temporary, sizeof(temporary), "%s.%d", path, getpid()) >= (int)sizeof(temporary))
		return -ENAMETOOLONG;
	int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	randombytes_buf(secret, sizeof(secret));
	/* the umask may have cleared bits */
	int rc = !fchmod(fd, 0600) && write(fd, secret, sizeof(secret)) == sizeof(secret) ? 0 : -EIO;
	sodium_memzero(secret, sizeof(secret));
	if (close(fd) && !rc)
		rc = -errno;
	if (!rc && link(temporary, path) && errno != EEXIST)
		rc = -errno;
	unlink(temporary);
	return rc;
}

static int open_key_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT) {
		int rc = make_key_file(path);
		if (rc)
			return rc;
		fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	}
	return fd < 0 ? -errno : fd;
}

int hca_auth_read_key(const char *path, uint8_t *key)
{
	uint8_t secret[4096];
	struct stat st;
	if (sodium_init() < 0)
		return -EIO;
	int fd = open_key_file(path);
	if (fd < 0) {
		hca_warn("software HCA: cannot read the key %s: %s", path, strerror(-fd));
		return fd;
	}
	ssize_t n = -1;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 077))
		n = read(fd, secret, sizeof(secret));
	close(fd);
	if (n < HCA_KEY_BYTES) {
		hca_warn("software HCA: the key %s must be its owner's alone (chmod 600), and %d bytes at least", path,
			 HCA_KEY_BYTES);
		return -EACCES;
	}
	crypto_generichash(key, HCA_KEY_BYTES, secret, (size_t)n, (const uint8_t *)context, sizeof(context));
	sodium_memzero(secret, sizeof(secret));
	return 0;
}

static void hello(struct hca_conn *c)
{
	struct hca_hello *h = &c->auth.ours;
	*h = (struct hca_hello){.magic = {'r', 'd', 'b', 'h', 'c', 'a', 0, FRAME_VERSION},
				.instance = hca.instance,
				.slot = (uint32_t)hca.slot,
				.port = (uint32_t)hca.base + (uint32_t)hca.slot};
	randombytes_buf(h->nonce, sizeof(h->nonce));
	uint8_t *to = hca_conn_put_raw(c, sizeof(*h));
	if (to)
		memcpy(to, h, sizeof(*h));
	hca_conn_touch(c);
}

/* Addresses of both ends of the socket.  They are part of the proof, so no third host can relay the handshake and take
 * over the connection afterwards. */
static void ends(const struct hca_conn *c, uint32_t *first, uint32_t *second)
{
	struct sockaddr_in ours = {0}, theirs = {0};
	socklen_t len = sizeof(ours);
	if (getsockname(c->fd, (struct sockaddr *)&ours, &len))
		ours.sin_port = 0;
	len = sizeof(theirs);
	if (getpeername(c->fd, (struct sockaddr *)&theirs, &len))
		theirs.sin_port = 0;
	uint32_t mine[2] = {ours.sin_addr.s_addr, ours.sin_port}, other[2] = {theirs.sin_addr.s_addr, theirs.sin_port};
	memcpy(c->initiator ? first : second, mine, sizeof(mine));
	memcpy(c->initiator ? second : first, other, sizeof(other));
}

/* The kernel drops packets from outside that claim an address of this host as their source. */
bool hca_auth_same_host(const struct hca_conn *c)
{
	uint32_t first[2], second[2];
	ends(c, first, second);
	return first[0] == second[0] ||
	       (ntohl(first[0]) >> 24 == IN_LOOPBACKNET && ntohl(second[0]) >> 24 == IN_LOOPBACKNET);
}

/* A MAC over this connection and `role`. */
static void derive(const struct hca_conn *c, char role, uint8_t *out)
{
	struct {
		uint8_t role[8];
		struct hca_hello first, second;
		uint32_t first_end[2], second_end[2];
	} said = {.role = {(uint8_t)role},
		  .first = c->initiator ? c->auth.ours : c->auth.theirs,
		  .second = c->initiator ? c->auth.theirs : c->auth.ours};
	ends(c, said.first_end, said.second_end);
	crypto_auth(out, (const uint8_t *)&said, sizeof(said), hca.key);
}

/* The proof of the connecting side (initiator) or of the accepting side. */
static void proof(const struct hca_conn *c, bool initiator, uint8_t *out)
{
	derive(c, initiator ? 'i' : 'a', out);
}

void hca_auth_keys(const struct hca_conn *c, uint8_t *ours, uint8_t *theirs)
{
	uint8_t both[2 * FRAME_KEY];
	_Static_assert(sizeof(both) == AUTH_PROOF, "one for each direction");
	derive(c, 't', both);
	memcpy(c->initiator ? ours : theirs, both, FRAME_KEY);
	memcpy(c->initiator ? theirs : ours, both + FRAME_KEY, FRAME_KEY);
	sodium_memzero(both, sizeof(both));
}

static void prove(struct hca_conn *c)
{
	uint8_t *to = hca_conn_put_raw(c, AUTH_PROOF);
	if (to)
		proof(c, c->initiator, to);
	hca_conn_touch(c);
}

void hca_auth_begin(struct hca_conn *c)
{
	c->state = CONN_AUTH;
	hello(c);
}

static int take_hello(struct hca_conn *c, const uint8_t *data)
{
	static const uint8_t magic[8] = {'r', 'd', 'b', 'h', 'c', 'a', 0, FRAME_VERSION};
	struct hca_hello *h = &c->auth.theirs;
	memcpy(h, data, sizeof(*h));
	if (memcmp(h->magic, magic, sizeof(magic)) || h->slot >= HCA_SLOTS || h->port > 65535)
		return -EACCES;
	if (c->initiator && h->port != c->port)
		return -EACCES;
	c->auth.heard = true;
	if (c->initiator)
		prove(c);
	else
		hello(c);
	return sizeof(*h);
}

int hca_auth_take(struct hca_conn *c, const uint8_t *data, size_t len)
{
	uint8_t want[AUTH_PROOF];
	if (!c->auth.heard)
		return len < sizeof(c->auth.theirs) ? 0 : take_hello(c, data);
	if (len < AUTH_PROOF)
		return 0;
	proof(c, !c->initiator, want);
	if (sodium_memcmp(want, data, sizeof(want)))
		return -EACCES;
	if (!c->initiator)
		prove(c);
	hca_conn_is_up(c);
	return AUTH_PROOF;
}
