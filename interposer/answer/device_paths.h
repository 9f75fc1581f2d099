/* Paths of an RDMA device that no driver of the system brings: its files lie elsewhere (host.h, device_files). */
#pragma once
#include <stdint.h>
#include "answer/other_names.h"

/* Replaces the path of a call below /dev/infiniband, /sys/class/infiniband or /sys/class/infiniband_verbs; `room` holds
 * it then. */
void device_paths(uint64_t nr, uint64_t args[6], char room[LONGEST]);
