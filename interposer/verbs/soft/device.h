/* The one device, its contexts and their asynchronous events. */
#pragma once
#include "hca.h"

struct hca_context {
	struct list link;
	unsigned users;
	int async_fd;
	struct list events; /* struct async_event */
	bool signalled;     /* async_fd was made readable */
};

int hca_devices(struct verbs_device *list, unsigned room);
int hca_open(unsigned device, void **context, int *async_fd, int *num_comp_vectors);
int hca_close(void *context);
int hca_query_device(void *context, struct ibv_device_attr_ex *attr, size_t size);
int hca_query_port(void *context, uint8_t port, struct ibv_port_attr *attr);
int hca_query_gid(void *context, uint8_t port, int index, struct ibv_gid_entry *entry);
int hca_query_pkey(void *context, uint8_t port, int index, __be16 *pkey);

/* files.c */
const char *hca_files(void);

/* async.c */
int hca_async_event(void *context, int *type, void **object, int *port);
int hca_restore_event(void *context, int type, void *object);
void hca_async_raise(struct hca_context *c, enum ibv_event_type type, void *object, int port);
/* Drops queued events of an object that is being destroyed; NULL: of all objects. */
void hca_async_forget(struct hca_context *c, const void *object);

/* Uses an eventfd as a flag: makes it readable or not.  *set is its current state. */
void hca_flag_set(int fd, bool *set, bool to);
