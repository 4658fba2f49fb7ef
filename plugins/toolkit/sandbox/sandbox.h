/* The sandbox of the helper in C: see sandbox.c. */
#ifndef SKILLET_SANDBOX_H
#define SKILLET_SANDBOX_H
#include <stdint.h>
#include <sys/types.h>

/* What all processes of a command together may use; 0: no limit. */
struct limits { uint64_t memory_bytes_max; uint32_t processes_max, cpu_ms_max; };

/* The files that one skill may use: a Landlock ruleset, and its folder for temporary files. */
struct rules { uint32_t id; int fd; char folder[48]; struct limits limits; struct starter *starter; struct rules *next; };

/* What a rule allows. The numbers of protocol.ts. */
enum { ALLOW_READ = 0, ALLOW_WRITE = 1 };

/* Enters the namespaces. Only the new process returns; the old one waits for it and ends as it ends. */
void enter_sandbox(int argc, char **argv);

/* Makes rules, or replaces those with this id. `paths`: each begins with 'r' (ALLOW_READ) or 'w' (ALLOW_WRITE). */
void keep_rules(uint32_t id, struct limits limits, char **paths, uint32_t count);
void forget_rules(uint32_t id);
struct rules *rules_of(uint32_t id);

/* How a command is started. */
struct start {
  struct rules *rules;
  const int *streams;                      /* input, output and errors */
  const char *folder;                      /* for temporary files */
  int (*start)(void *request, pid_t *pid); /* starts it; where `is_strict`, with the streams 0, 1 and 2. Returns an error number */
  void *request;
  pid_t pid;                               /* the result: its process, or the first one of its namespace */
  int report;                              /* the result where `is_strict`: tells how it ended, see strict.h */
};

/* Whether each command has a namespace of processes of its own. */
int is_strict(void);

/* Starts a command where rules hold. Returns an error number. */
int start_confined(struct start *start);

/* For the one program of a sandbox of its own, at the level `strict`, before it starts: what a command has for itself there. Nothing at other levels. Returns an error number. */
int arrange_own(const struct rules *rules, const char *folder);

/* In a new process that is no command, before exec: takes from it what rules do not allow, and all capabilities. Returns an error number. */
int enter_for_good(const struct rules *rules);

/* In the new process of a command, before exec: marks it, and takes away what is left that a command may not do. Returns an error number. */
int confine(const struct rules *rules, uint32_t mark);

/* The folder for temporary files of a run: made before it starts, and removed with all that is in it. `make_folder` returns an error number. */
int make_folder(const struct rules *rules, uint32_t run, char *path, uint32_t bytes);
void leave_folder(const struct rules *rules, uint32_t run);

/* Removes what commands left in shared memory. Only while none runs. */
void empty_shared_memory(void);
#endif
