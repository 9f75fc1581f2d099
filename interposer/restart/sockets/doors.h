/* Where ranks meet to make connections again: a door is a listener at one address of a host, open only as long as
 * others have to connect to it.  Both sides prove to each other that they have read the file with the listener's token:
 * only the owner of the branch can. */
#pragma once
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include "restart/sockets/sockets.h"
#include "base/siphash.h"

enum { ADDRESSES = 16, DOORS = 16 };

struct door {
	int fd, port;
	struct in_addr address;
};

struct place {
	char token[2 * SIPHASH_KEY + 1], host[160], address[ADDRESSES][48], local[32];
	unsigned naddress, ndoors;
	struct door doors[DOORS];
	int rank, local_fd; /* local_fd: for sockets that were connected by a path */
	bool open;          /* its doors have been read */
};
extern struct place our_place;

/* Moves a descriptor away from the program's, or refuses the restart. */
int keep_socket(int fd);
/* Our token, host and addresses. */
void place_find(void);
void place_write(FILE *f);
/* Reads a line of another rank's file.  False: the line says something else. */
bool place_line(struct place *p, const char *line);

/* Opens doors at our addresses that lead to that rank's host: at the loopback device's, if it is our host. */
void doors_open_to(const struct place *p);
void door_open_local(void);
void doors_write(FILE *f);
/* A connection, if one comes soon; else -1. */
int door_accept(void);
void doors_close(void);

int door_connect(const struct place *p);
int door_connect_local(const struct place *p);
/* Connects to a listener of the program. */
int door_connect_listener(const struct place *p, int port);
/* The proof of the side that connects, or of the other, for the connection of that key. */
uint64_t door_proof(const struct place *accepts, const char *key, bool connects);
/* Receives all LEN bytes; false: it could not. */
bool door_hear(int fd, void *to, size_t len, int ms);
