/* Threads that start commands with the rights of one set of rules: see starter.c. */
#ifndef SKILLET_STARTER_H
#define SKILLET_STARTER_H
#include <sys/types.h>

struct starter;

/* A thread that `enter` has confined for good. NULL when it could not be made; then `errno` says why. */
struct starter *new_starter(int (*enter)(int ruleset), int ruleset);

/* Calls a function in the thread, and returns what it returns. */
int start_in(struct starter *starter, int (*start)(void *request, pid_t *pid), void *request, pid_t *pid);

void end_starter(struct starter *starter);
#endif
