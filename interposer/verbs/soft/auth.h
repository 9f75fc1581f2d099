/* Two processes prove to each other that they hold the same key, before anything else is read.
 *
 * Each side sends a hello (a nonce and its identity).  Then the side that connected sends its proof first: a MAC, with
 * the key, over its role, both hellos and the socket's addresses.  A proof is valid for one connection and direction.
 * The keys of the frames' tags are derived from the same data.
 */
#pragma once
#include "hca.h"

enum { AUTH_NONCE = 32, AUTH_PROOF = 32 };

struct hca_hello {
	uint8_t magic[8]; /* "rdbhca\0" and the version of the frames */
	uint64_t instance;
	uint32_t slot;
	uint32_t port;
	uint8_t nonce[AUTH_NONCE];
};
_Static_assert(sizeof(struct hca_hello) == 56, "on the wire");

struct hca_auth {
	struct hca_hello ours, theirs;
	bool heard; /* `theirs` has arrived */
};

struct hca_conn;
/* Derives the key from the file above->key_file, which is made if there is none.  0 or -errno. */
int hca_auth_read_key(const char *path, uint8_t *key);
/* Sends our hello. */
void hca_auth_begin(struct hca_conn *conn);
/* Tag keys of the frames that we send and of those that we receive. */
void hca_auth_keys(const struct hca_conn *conn, uint8_t *ours, uint8_t *theirs);
/* Whether the peer is on this host.  Both ends see the same addresses, so both get the same result. */
bool hca_auth_same_host(const struct hca_conn *conn);
/* Handles one message of the handshake.  Returns the bytes used; 0: it is not complete yet; -EACCES: the peer does not
 * hold the key. */
int hca_auth_take(struct hca_conn *conn, const uint8_t *data, size_t len);
