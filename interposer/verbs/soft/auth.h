/* Two processes prove to each other that they hold the same key, before anything else is read.
 *
 * Both say hello (a nonce each, and who they are); then the one that connected proves first: HMAC, with the key,
 * over its role and both hellos.  A proof is good for one connection and one direction only.
 */
#ifndef RDB_HCA_AUTH_H
#define RDB_HCA_AUTH_H
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
	bool heard; /* their hello */
};

struct hca_conn;
/* The key in above->key_file, which is made if there is none.  0 or -errno. */
int hca_auth_read_key(const char *path, uint8_t *key);
/* Says hello. */
void hca_auth_begin(struct hca_conn *conn);
/* Takes what came, if it is all there: bytes used, 0: more is needed, -EACCES: a foreigner. */
int hca_auth_take(struct hca_conn *conn, const uint8_t *data, size_t len);

#endif
