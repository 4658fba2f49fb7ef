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

/* The processor time in milliseconds that a process has used, and those of its children that it has waited for. */
uint64_t cpu_ms_of(int pid);

/* What a run has used up to now. `now_ms` is the sum over all that live: what ended without being waited for is missing
   there, so the sum may fall. It is taken as it was seen last. */
struct cpu_use { uint64_t seen_ms, used_ms; };
void add_cpu(struct cpu_use *use, uint64_t now_ms);

/* How many threads a process has. */
uint32_t threads_of(int pid);
#endif
