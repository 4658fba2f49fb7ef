/* The level `strict`: a pid namespace and file systems of its own for each command. See strict.c. */
#ifndef SKILLET_STRICT_H
#define SKILLET_STRICT_H
#include <stdint.h>
#include <sys/types.h>

/* What the first process of the namespace needs. */
struct inside {
  const int *streams;     /* input, output and errors of the command */
  const char *folder;     /* its folder for temporary files */
  const char *home;       /* the home directory where it is hidden, or NULL */
  uint32_t processes_max; /* 0: no limit */
  int (*start)(void *request, pid_t *pid); /* starts the command with the streams 0, 1 and 2; returns an error number */
  void *request;
};

/* The folder in the root of its own that holds nothing but /proc, which is a link. Landlock knows a file system by the
   folder that it is mounted in, and each command has another /proc. */
#define OWN "/sandbox"
#define OWN_PROC OWN "/proc"

/* Folders of the machine that the new root hides, as descriptors; -1 where there is none. */
struct machine { int tmp, run, home; };

/* Makes a root of our own: read-only, with what the machine's root has, but a home directory, /tmp and /run that are
   empty, only harmless devices, and of /sys only the devices. For the helper, once. */
void enter_root(const char *home, struct machine *machine);

/* In the first process of a namespace: its own /proc, /dev/shm and folder for temporary files, and the limit of processes.
   Uses of `inside` only `folder`, `home` and `processes_max`. Returns an error number. */
int arrange_inside(const struct inside *inside);

/* Starts a command in a namespace of its own. `pid` is its first process: it passes SIGTERM on, and when the command
   ends or it is killed, all in the namespace end. `report` tells how the command ended. `rules` is the
   descriptor of its Landlock ruleset, which has another number inside. Returns an error number. */
int start_inside(const struct inside *inside, int *rules, pid_t *pid, int *report);

/* How the command ended, as waitpid says it: to be asked when the first process has ended. -1: it was killed. */
int status_of(int report);
#endif
