/* Names of this kind of processor, and of what the kernel has only for it:
 * ELF_MACHINE: e_machine in elf(5); ELF_PLATFORM: AT_PLATFORM in getauxval(3);
 * MACHINE: its name for messages; CPU_CHOICES: values of --cpu (base/cpu_features.h);
 * INSTRUCTIONS_UNSEEN: for messages, the instructions of answer/instructions.h that may not trap;
 * MACHINE_AUDIT_ARCH: its number in seccomp(2);
 * MAP_LOW: flag of mmap(2) for an address below 4 GB; 0: there is none. */
#pragma once
#include <elf.h>
#include <sys/mman.h>
#include "arch/x86_64/base/machine.h"
