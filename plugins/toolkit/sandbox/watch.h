/* What a long-lived program uses and leaves behind: see watch.c. */
#ifndef SKILLET_WATCH_H
#define SKILLET_WATCH_H
#include "sandbox.h"
#include "use.h"

struct watch {
  int control;          /* the descriptor of the server's questions */
  pid_t program;
  struct limits limits;
  uint32_t runs;        /* that share the time of the processor; 0: it does not count */
  struct cpu_use cpu;   /* of this run */
  uint64_t due_ns;      /* when to look at it again; 0: at once */
  uint64_t looked_ms;   /* all time of the processor when it was last looked at */
  int wait_ms;          /* between two looks */
};

/* Looks at what the program uses, if it is time, and ends this process where that is too much. Returns how long until the next look, in milliseconds; -1: none is needed. */
int look(struct watch *watch);

/* Answers what the server asks. Ends this process where the program has left processes behind. */
void hear(struct watch *watch);
#endif
