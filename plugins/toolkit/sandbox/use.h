/* What the processes of commands use: see use.c. */
#ifndef SKILLET_USE_H
#define SKILLET_USE_H
#include <stdint.h>

/* Visits all processes that bear a mark. */
void each_marked(void (*visit)(int pid, uint32_t mark));

/* The memory of a process in bytes, what it shares with others included. Quick, and too high for a command of many processes. */
uint64_t memory_of(int pid);

/* The same without files, and with its part of what it shares. Slow: the system looks at each page. */
uint64_t exact_memory_of(int pid);

/* How many threads a process has. */
uint32_t threads_of(int pid);
#endif
