#pragma once
#include <linux/audit.h>

#define ELF_MACHINE EM_X86_64
#define ELF_PLATFORM "x86_64"
#define MACHINE "x86-64"
#define CPU_CHOICES "native|x86-64-v3|x86-64-v2"
#define INSTRUCTIONS_UNSEEN "RDRAND, RDSEED or CPUID"
#define MACHINE_AUDIT_ARCH AUDIT_ARCH_X86_64
#define MAP_LOW MAP_32BIT
