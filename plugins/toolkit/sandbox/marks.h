/* The mark of a command's processes: see marks.c. */
#ifndef SKILLET_MARKS_H
#define SKILLET_MARKS_H
#include <stdint.h>
#include <linux/filter.h>

enum { MARKS = 40000 }; /* marks are 1 to this number */

/* Draws the number that the filter of system calls asks for. Must be called before it is installed. */
void draw_permit(void);

/* The part of the filter, with the number of the call loaded, that keeps commands from changing their mark. */
#define MARK_FILTER_LENGTH 10
void filter_marks(struct sock_filter *part);

/* Marks this thread, and all that it starts from now on. Returns an error number. */
int take_mark(uint32_t mark);

/* The mark of a process; 0 where it has none or has ended. */
uint32_t mark_of(int pid);
#endif
