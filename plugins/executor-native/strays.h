/* Processes that commands leave behind: see strays.c. */
#ifndef SKILLET_STRAYS_H
#define SKILLET_STRAYS_H
#include <stdint.h>

/* Makes what commands leave behind, whatever its group or session, a child of this process. */
void adopt_strays(void);

/* Ends the children that are no commands, and of which `is_stray` says so. Returns whether there were any. */
int end_strays(int (*is_command)(int pid), int (*is_stray)(int pid));

/* Ends all children, and what they leave behind. Waits until they have ended, `ms_max` at the most. */
void end_children(int ms_max);

/* When a process started, in ticks of the system since its boot; UINT64_MAX where it is unknown. */
uint64_t started_at(int pid);
#endif
