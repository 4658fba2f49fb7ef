/* The sandbox of the helper in C: see sandbox.c. */
#ifndef SKILLET_SANDBOX_H
#define SKILLET_SANDBOX_H
#include <stdint.h>

/* The files that one skill may use: a Landlock ruleset, and its folder for temporary files. */
struct rules { uint32_t id; int fd; char folder[48]; struct rules *next; };

/* What a rule allows. The numbers of protocol.ts. */
enum { ALLOW_READ = 0, ALLOW_WRITE = 1 };

/* Enters the namespaces. Only the new process returns; the old one waits for it and ends as it ends. */
void enter_sandbox(int argc, char **argv);

/* Makes rules, or replaces those with this id. `paths`: each begins with 'r' (ALLOW_READ) or 'w' (ALLOW_WRITE). */
void keep_rules(uint32_t id, char **paths, uint32_t count);
void forget_rules(uint32_t id);
struct rules *rules_of(uint32_t id);

/* In the new process of a command, before exec: takes away what the helper may and a command may not. Returns an error number. */
int confine(const struct rules *rules);

/* The folder for temporary files of a run: made before it starts, and removed with all that is in it. `make_folder` returns an error number. */
int make_folder(const struct rules *rules, uint32_t run, char *path, uint32_t bytes);
void leave_folder(const struct rules *rules, uint32_t run);

/* Removes what commands left in shared memory. Only while none runs. */
void empty_shared_memory(void);

/* The mark that all processes of a command bear, whatever they do: the number of their UTS namespace. 0 where it is unknown. */
uint64_t mark_of(int pid);

/* Ends the processes that commands left behind: those whose mark `is_running` does not know. Returns whether there were any. */
int end_strays(int (*is_command)(int pid), int (*is_running)(uint64_t mark));
#endif
