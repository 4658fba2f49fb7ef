/*
 * The helper in C: a small process that starts commands for the server, as helper.ts does, at a third of the cost. It
 * is built on Linux if there is a compiler; otherwise helper.ts is used. Both implement the protocol of protocol.ts.
 *
 * Compiled with -DSANDBOX and sandbox/, it is the helper whose commands are confined. It is the first process of its
 * own pid namespace, so that processes that a command leaves behind become its children, and end with it at the latest.
 *
 * The helper has one thread, and epoll_wait is the only call that blocks. When the server closes the pipe or dies, the
 * helper ends, with all processes that it started and what these left behind. A command that has exited is not reaped until its process group was
 * ended, so that the system can't assign the group's id to another group.
 */
#define _GNU_SOURCE
#ifdef SANDBOX
#include "sandbox/marks.h"
#include "sandbox/sandbox.h"
#include "sandbox/strict.h"
#include "sandbox/use.h"
#endif
#include "strays.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
  CHANNEL = 3,               /* the descriptor of the pipe to the server */
  WATCH_MS = 2,              /* time before a command's streams are watched: most commands end earlier, and watching
                                takes a tenth of the helper's CPU time */
  TERM_MS = 300,             /* time between SIGTERM and SIGKILL, in which a command can end */
  GRACE_MS = 100,            /* time for which other processes may hold a command's output open after it has exited */
  UNKILLABLE_MS = 2000,      /* time for which the helper waits for a command after SIGKILL */
  USE_MS = 100,              /* time between two looks at what commands use, in a sandbox */
  END_MS = 500,              /* time for which the helper waits for all processes to end before it does */
  TAIL_BYTES = 4096,         /* kept bytes of standard error */
  PART_BYTES_MAX = 1 << 28,  /* maximum bytes of a message or a payload */
  PREFIX_BYTES = 8,
  EVENTS = 64,
  KNOWN = 64,                /* programs whose location is cached */
  KNOWN_BYTES_MAX = 8192,    /* maximum bytes of name and PATH together for the cache */
  KNOWN_MS = 1000            /* time in the cache: a program that is installed earlier in PATH is found after it */
};

/* The numbers of messages and refusals in protocol.ts. */
enum { TO_RUN = 1, TO_STOP = 2, TO_KEEP_RULES = 3, TO_FORGET_RULES = 4 };
enum { FROM_STARTED = 1, FROM_REFUSED = 2, FROM_ENDED = 3, FROM_OUTPUT = 4 };
enum { EXCEEDED_NOTHING, EXCEEDED_OUTPUT, EXCEEDED_MEMORY, EXCEEDED_PROCESSES, EXCEEDED_CPU };
enum { WHY_DIRECTORY, WHY_MISSING, WHY_INTERPRETER, WHY_NOT_EXECUTABLE, WHY_TOO_LONG, WHY_RESOURCES };

struct buffer { uint8_t *bytes; size_t start, end, room; };

enum kind { IN, OUT, ERR };
struct run;
struct stream { struct run *run; int fd; int watched; enum kind kind; };

enum due { NOTHING, WATCH, KILL, GIVE_UP, END_REST, FINISH };

struct run {
  uint32_t id, rules;             /* `rules` is 0 in a helper without a sandbox */
  uint32_t mark;                  /* the mark of its processes in a sandbox */
  int report;                     /* tells how the command ended, where `pid` is the first process of its namespace; or -1 */
  uint64_t memory_bytes, started; /* what its processes used when it was last looked at, and when it was started, in ticks */
  uint32_t processes;
#ifdef SANDBOX
  uint64_t cpu_ms;                /* of its processes that live, when it was last looked at */
  struct cpu_use cpu;
#endif
  pid_t pid;
  struct stream streams[3];
  struct buffer head;             /* the kept beginning of standard output */
  uint64_t head_max, stop_bytes, out_bytes, err_bytes;
  uint8_t tail[TAIL_BYTES];       /* the end of standard error */
  size_t tail_bytes;
  struct buffer input;
  int live, exited, reaped, answered, stopping, exceeded;
  int32_t exit_code;              /* -1 when a signal ended the command */
  uint32_t exit_signal;
  enum due due;
  uint64_t due_ns;
};

static struct run **runs;
static int has_ended;               /* whether a run has ended since the last search for strays */
#ifdef SANDBOX
static struct run *current;         /* the run whose command is being started */
static uint64_t use_due_ns;         /* when to look again at what commands use */
static char folder_variable[80];    /* TMPDIR of the command that is being started */
#endif
static size_t runs_count, runs_room;
static struct buffer incoming, outgoing;
static int poll_fd, child_fd, null_fd, writing;
static uint8_t scratch[1 << 16];
static sigset_t no_signals;
static pid_t own_pid;

static void fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  exit(1);
}

static void *sized(void *memory, size_t bytes) {
  void *more = realloc(memory, bytes);
  if (more == NULL) fail("no memory");
  return more;
}

static char *copied(const char *string) {
  size_t bytes = strlen(string) + 1;
  return memcpy(sized(NULL, bytes), string, bytes);
}

#ifndef SANDBOX
/* The time in ticks of the system since its boot, as in /proc. */
static uint64_t ticks_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_BOOTTIME, &t);
  const uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);
  return (uint64_t)t.tv_sec * hz + (uint64_t)t.tv_nsec * hz / 1000000000u;
}
#endif

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- buffers ---- */

static void append(struct buffer *b, const void *bytes, size_t count) {
  if (count == 0) return;
  if (b->end + count > b->room) {
    if (b->start > 0) memmove(b->bytes, b->bytes + b->start, b->end - b->start);
    b->end -= b->start;
    b->start = 0;
    if (b->end + count > b->room) {
      size_t room = b->room < 4096 ? 4096 : b->room * 2;
      b->room = room < b->end + count ? b->end + count : room;
      b->bytes = sized(b->bytes, b->room);
    }
  }
  memcpy(b->bytes + b->end, bytes, count);
  b->end += count;
}

static void consume(struct buffer *b, size_t count) {
  b->start += count;
  if (b->start < b->end) return;
  b->start = b->end = 0;
  if (b->room > 1 << 20) { /* after a burst, the memory is freed */
    free(b->bytes);
    *b = (struct buffer){ 0 };
  }
}

static void put_u32(uint8_t *at, uint32_t value) {
  for (int i = 0; i < 4; i++) at[i] = (uint8_t)(value >> (8 * i));
}

static uint32_t get_u32(const uint8_t *at) {
  return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* ---- the pipe to the server ---- */

/* Ends all commands and the helper. Called when the server is gone or has closed the pipe. */
static _Noreturn void end_all(void) {
  for (size_t i = 0; i < runs_count; i++) if (!runs[i]->reaped) kill(-runs[i]->pid, SIGKILL);
#ifndef SANDBOX
  end_children(END_MS); /* in a sandbox, the system does it when the first process of the namespace ends */
#endif
  _exit(0);
}

static void watch_channel(int to_write) {
  if (to_write == writing) return;
  writing = to_write;
  struct epoll_event event = { .events = to_write ? EPOLLIN | EPOLLOUT : EPOLLIN, .data.ptr = NULL };
  if (epoll_ctl(poll_fd, EPOLL_CTL_MOD, CHANNEL, &event) < 0) fail("epoll_ctl");
}

static void flush(void) {
  while (outgoing.start < outgoing.end) {
    ssize_t n = write(CHANNEL, outgoing.bytes + outgoing.start, outgoing.end - outgoing.start);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) break;
    if (n < 0) end_all();
    consume(&outgoing, (size_t)n);
  }
  watch_channel(outgoing.start < outgoing.end);
}

/* Queues a message for the server: numbers, then bytes, and a payload. */
static void tell(const uint32_t *numbers, size_t count, const void *bytes, size_t bytes_count, const void *payload, size_t payload_count) {
  uint8_t text[PREFIX_BYTES + 4 * 8];
  put_u32(text, (uint32_t)(4 * count + bytes_count));
  put_u32(text + 4, (uint32_t)payload_count);
  for (size_t i = 0; i < count; i++) put_u32(text + PREFIX_BYTES + 4 * i, numbers[i]);
  append(&outgoing, text, PREFIX_BYTES + 4 * count);
  append(&outgoing, bytes, bytes_count);
  append(&outgoing, payload, payload_count);
}

/* ---- a run's streams ---- */

static void close_stream(struct stream *s) {
  if (s->fd < 0) return;
  /* Closing alone is not enough: a command that is being started still has a copy of this descriptor for a moment, and
     epoll would report events for a run that is freed. */
  if (s->watched) epoll_ctl(poll_fd, EPOLL_CTL_DEL, s->fd, NULL);
  close(s->fd);
  s->watched = 0;
  s->fd = -1;
}

static void signal_group(struct run *r, int signal) {
  /* The first process of a namespace passes the signal on, or ends all with itself. */
  if (!r->reaped) kill(r->report >= 0 ? r->pid : -r->pid, signal);
}

static void after(struct run *r, uint64_t ms, enum due due) {
  r->due = due;
  r->due_ns = now_ns() + ms * 1000000u;
}

static void watch(struct run *r) {
  for (int i = 0; i < 3; i++) {
    struct stream *s = &r->streams[i];
    if (s->fd < 0 || s->watched) continue;
    struct epoll_event event = { .events = s->kind == IN ? EPOLLOUT : EPOLLIN, .data.ptr = s };
    if (epoll_ctl(poll_fd, EPOLL_CTL_ADD, s->fd, &event) < 0) fail("epoll_ctl");
    s->watched = 1;
  }
}

static void stop(struct run *r) {
  if (r->stopping || r->answered || r->exited) return;
  watch(r);
  r->stopping = 1;
  signal_group(r, SIGTERM);
  after(r, TERM_MS, KILL);
}

/* Sends what a command writes while it runs: stream 1 is standard output, 2 is standard error. */
static void tell_output(struct run *r, uint32_t stream, const uint8_t *bytes, size_t count) {
  if (!r->live || count == 0) return;
  const uint32_t numbers[] = { FROM_OUTPUT, r->id, stream };
  tell(numbers, 3, NULL, 0, bytes, count);
}

static void keep_head(struct run *r, const uint8_t *bytes, size_t count) {
  size_t room = (size_t)(r->head_max - (r->head.end - r->head.start));
  size_t kept = count < room ? count : room;
  append(&r->head, bytes, kept);
  tell_output(r, 1, bytes, kept);
}

static void keep_tail(struct run *r, const uint8_t *bytes, size_t count) {
  if (count >= TAIL_BYTES) {
    memcpy(r->tail, bytes + count - TAIL_BYTES, TAIL_BYTES);
    r->tail_bytes = TAIL_BYTES;
    return;
  }
  size_t kept = r->tail_bytes + count > TAIL_BYTES ? TAIL_BYTES - count : r->tail_bytes;
  memmove(r->tail, r->tail + r->tail_bytes - kept, kept);
  memcpy(r->tail + kept, bytes, count);
  r->tail_bytes = kept + count;
}

/* Reads once from a stream. Returns whether there may be more data. */
static int take(struct stream *s) {
  if (s->fd < 0) return 0;
  struct run *r = s->run;
  ssize_t n = read(s->fd, scratch, sizeof scratch);
  if (n < 0 && errno == EINTR) return 1;
  if (n < 0 && errno == EAGAIN) return 0;
  if (n <= 0) {
    close_stream(s);
    return 0;
  }
  if (s->kind == OUT) {
    r->out_bytes += (uint64_t)n;
    keep_head(r, scratch, (size_t)n);
  } else {
    uint64_t room = r->err_bytes < r->head_max ? r->head_max - r->err_bytes : 0;
    tell_output(r, 2, scratch, (uint64_t)n < room ? (size_t)n : (size_t)room);
    r->err_bytes += (uint64_t)n;
    keep_tail(r, scratch, (size_t)n);
  }
  if (r->exceeded == EXCEEDED_NOTHING && r->out_bytes + r->err_bytes > r->stop_bytes) {
    r->exceeded = EXCEEDED_OUTPUT;
    /* The output is not read any more: a command that goes on writing gets SIGPIPE. */
    close_stream(&r->streams[OUT]);
    close_stream(&r->streams[ERR]);
    stop(r);
    return 0;
  }
  return 1;
}

static void feed(struct run *r) {
  struct stream *s = &r->streams[IN];
  while (s->fd >= 0 && r->input.start < r->input.end) {
    ssize_t n = write(s->fd, r->input.bytes + r->input.start, r->input.end - r->input.start);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n < 0) break; /* a command need not read its input */
    consume(&r->input, (size_t)n);
  }
  close_stream(s);
}

/* ---- the end of a run ---- */

static void finish(struct run *r) {
  if (r->answered) return;
  r->answered = 1;
  r->due = NOTHING;
  signal_group(r, SIGKILL); /* ends the rest of the group */
  for (int i = 0; i < 3; i++) close_stream(&r->streams[i]);
  size_t from = 0; /* when the beginning was dropped, the text begins at the first whole character */
  if (r->err_bytes > r->tail_bytes) while (from < 3 && from < r->tail_bytes && (r->tail[from] & 0xc0) == 0x80) from++;
  const uint32_t numbers[] = {
    FROM_ENDED, r->id, (uint32_t)r->exit_code, r->exit_signal, (uint32_t)r->exceeded, (uint32_t)r->out_bytes, (uint32_t)(r->out_bytes >> 32)
  };
  tell(numbers, 7, r->tail + from, r->tail_bytes - from, r->head.bytes, r->head.end - r->head.start);
  if (r->exited) {
    int status;
    while (waitpid(r->pid, &status, 0) < 0 && errno == EINTR) { }
    r->reaped = 1;
  }
  has_ended = 1;
}

static int is_closed(const struct run *r) {
  return r->streams[OUT].fd < 0 && r->streams[ERR].fd < 0;
}

/* Where the first process of a namespace has ended: how the command did. */
static void take_report(struct run *r) {
#ifdef SANDBOX
  const int status = r->report < 0 ? -1 : status_of(r->report);
  if (status < 0) return; /* it was killed, and the command with it */
  r->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  r->exit_signal = WIFEXITED(status) ? 0 : (uint32_t)WTERMSIG(status);
#else
  (void)r;
#endif
}

/* Checks whether a command has exited, without reaping it. */
static void look_after(struct run *r) {
  siginfo_t info = { 0 };
  if (r->exited || waitid(P_PID, (id_t)r->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0) return;
  r->exited = 1;
  if (r->answered) { /* the helper had stopped waiting for it */
    waitpid(r->pid, NULL, WNOHANG);
    r->reaped = 1;
    return;
  }
  r->exit_code = info.si_code == CLD_EXITED ? info.si_status : -1;
  r->exit_signal = info.si_code == CLD_EXITED ? 0 : (uint32_t)info.si_status;
  take_report(r);
  /* Most often the output has ended too. When other processes of the command hold it open, they are killed; processes
     that have left the group are no longer waited for. */
  while (take(&r->streams[OUT])) { }
  while (take(&r->streams[ERR])) { }
  if (is_closed(r)) finish(r);
  else {
    watch(r);
    after(r, GRACE_MS, END_REST);
  }
}

static void come_due(struct run *r) {
  if (r->due == WATCH) {
    r->due = NOTHING;
    watch(r);
    return;
  }
  /* Data that has already arrived is read first: otherwise output would be lost when this process ran late. */
  while (take(&r->streams[OUT])) { }
  while (take(&r->streams[ERR])) { }
  look_after(r);
  if (r->answered || r->due == NOTHING || now_ns() < r->due_ns) return;
  switch (r->due) {
    case KILL:
      signal_group(r, SIGKILL);
      after(r, UNKILLABLE_MS, GIVE_UP);
      break;
    case GIVE_UP: /* only a command that hangs in the kernel survives SIGKILL */
      r->exit_code = -1;
      r->exit_signal = SIGKILL;
      finish(r);
      break;
    case END_REST:
      if (is_closed(r)) finish(r);
      else {
        signal_group(r, SIGKILL);
        after(r, GRACE_MS, FINISH);
      }
      break;
    case FINISH:
      finish(r);
      break;
    case NOTHING: case WATCH:
      break;
  }
}

/* ---- starting a command ---- */

static const char *name_of(int error, char *other, size_t bytes) {
  static const struct { int error; const char *name; } names[] = {
    { ENOENT, "ENOENT" }, { EACCES, "EACCES" }, { ENOTDIR, "ENOTDIR" }, { E2BIG, "E2BIG" }, { EAGAIN, "EAGAIN" }, { ENOMEM, "ENOMEM" }, { EMFILE, "EMFILE" },
    { ENFILE, "ENFILE" }, { ENOEXEC, "ENOEXEC" }, { ELOOP, "ELOOP" }, { ENAMETOOLONG, "ENAMETOOLONG" }, { ETXTBSY, "ETXTBSY" }, { EPERM, "EPERM" },
    { EISDIR, "EISDIR" }, { EINVAL, "EINVAL" }, { EIO, "EIO" }, { ELIBBAD, "ELIBBAD" }
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) if (names[i].error == error) return names[i].name;
  snprintf(other, bytes, "errno %d", error);
  return other;
}

/* The program's path in the next folder of PATH; NULL after the last folder. The caller must free it. */
static char *candidate(const char **path, const char *program) {
  if (*path == NULL) return NULL;
  size_t folder = strcspn(*path, ":");
  size_t bytes = strlen(program) + 1;
  char *file = sized(NULL, folder + 1 + bytes);
  memcpy(file, *path, folder);
  if (folder > 0) file[folder++] = '/'; /* an empty folder means the working directory */
  memcpy(file + folder, program, bytes);
  *path += strcspn(*path, ":");
  *path = **path == ':' ? *path + 1 : NULL;
  return file;
}

static const char *path_of(char *const *environment) {
  for (; *environment != NULL; environment++) if (strncmp(*environment, "PATH=", 5) == 0) return *environment + 5;
  return "/bin:/usr/bin"; /* the default of execvp */
}

static int is_there(const char *program, const char *path) {
  if (strchr(program, '/') != NULL) return access(program, F_OK) == 0;
  int found = 0;
  for (char *file; !found && (file = candidate(&path, program)) != NULL; free(file)) found = access(file, F_OK) == 0;
  return found;
}

/* Why a command could not be started. The system gives the same error for a missing program and a missing directory. */
static uint32_t why_refused(int error, const char *program, const char *cwd, const char *path) {
  struct stat folder;
  switch (error) {
    case EAGAIN: case ENOMEM: case EMFILE: case ENFILE: return WHY_RESOURCES;
    case E2BIG: return WHY_TOO_LONG;
  }
  if (access(cwd, X_OK) != 0 || stat(cwd, &folder) != 0 || !S_ISDIR(folder.st_mode)) return WHY_DIRECTORY;
  if (error == ENOENT) return is_there(program, path) ? WHY_INTERPRETER : WHY_MISSING;
  return error == ENOTDIR ? WHY_MISSING : WHY_NOT_EXECUTABLE;
}

/* Turns a new process into the command. It shares memory and stack with its parent (vfork), so it only makes system
   calls, and writes no memory that the parent does not expect to change. `args[-1]` must be writable. Returns only on
   failure, with an error number. */
static int become(const char *file, const int *streams, const char *cwd, char **args, char *const *environment) {
  /* When the helper dies, the server ends the process groups that it knows of. It does not know this group yet. */
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0) return errno;
  if (getppid() != own_pid) _exit(127);
  /* The command gets its own process group in the helper's session, which has no terminal. With its own session, the
     kernel would create a scheduling group for each command, which costs a fifth of the throughput. */
  if (setpgid(0, 0) < 0) return errno;
  for (int i = 0; i < 3; i++) if (dup2(streams[i], i) < 0) return errno;
  if (chdir(cwd) < 0 || sigprocmask(SIG_SETMASK, &no_signals, NULL) < 0) return errno;
#ifdef SANDBOX
  const int refused = confine(rules_of(current->rules), current->mark);
  if (refused != 0) return refused;
#endif
  execve(file, args, environment);
  if (errno != ENOEXEC) return errno;
  /* As in execvp, a file that the kernel can't execute is run as a shell script. */
  char *const first = args[0];
  args[-1] = "/bin/sh";
  args[0] = (char *)file;
  execve("/bin/sh", args - 1, environment);
  args[0] = first;
  return errno;
}

struct request { const char *file; const int *streams; const char *cwd; char **args; char *const *environment; };

/* Starts a program at a path. posix_spawn would take twice as long: it makes a stack for each process, and a system
   call for each signal and descriptor. Returns an error number. */
static int spawn_now(void *argument, pid_t *pid) {
  const struct request *request = argument;
  char **args = request->args, *const first = args[0];
  volatile int error = 0; /* written by the new process */
  pid_t child = vfork();
  if (child == 0) {
    error = become(request->file, request->streams, request->cwd, args, request->environment);
    _exit(127);
  }
  args[0] = first; /* it may have been changed for a shell */
  if (child < 0) return errno;
  *pid = child;
  if (error != 0) while (waitpid(child, NULL, 0) < 0 && errno == EINTR) { }
  return error;
}

static int spawn_file(pid_t *pid, const char *file, const int *streams, const char *cwd, char **args, char *const *environment) {
  struct request request = { .file = file, .streams = streams, .cwd = cwd, .args = args, .environment = environment };
#ifdef SANDBOX
  static const int inside[] = { IN, OUT, ERR };
  if (is_strict()) request.streams = inside;
  struct start start = {
    .rules = rules_of(current->rules), .streams = streams, .folder = folder_variable + strlen("TMPDIR="), .start = spawn_now, .request = &request, .report = -1
  };
  const int error = start_confined(&start);
  *pid = start.pid;
  current->report = start.report;
  return error;
#else
  return spawn_now(&request, pid);
#endif
}

/* Finds a program in PATH: the absolute path of an executable file. NULL when it was not found, or when a relative
   folder comes first, since that is relative to the command's working directory. */
static char *find(const char *program, const char *path) {
  struct stat status;
  for (char *file; (file = candidate(&path, program)) != NULL; free(file)) {
    if (file[0] == '/' && (stat(file, &status) != 0 || !S_ISREG(status.st_mode) || access(file, X_OK) != 0)) continue;
    if (file[0] == '/') return file;
    free(file);
    return NULL;
  }
  return NULL;
}

/* Like `find`, with a cache, since most folders of PATH do not have the program. */
static const char *locate(const char *program, const char *path) {
  static struct { char *program, *path, *file; uint64_t until_ns; } known[KNOWN];
  if (strlen(program) + strlen(path) > KNOWN_BYTES_MAX) return NULL;
  size_t at = 0;
  for (const char *c = program; *c != 0; c++) at = at * 31 + (unsigned char)*c;
  at %= KNOWN;
  if (known[at].file != NULL && now_ns() < known[at].until_ns && strcmp(known[at].program, program) == 0 && strcmp(known[at].path, path) == 0) return known[at].file;
  free(known[at].program);
  free(known[at].path);
  free(known[at].file);
  known[at].program = copied(program);
  known[at].path = copied(path);
  known[at].file = find(program, path);
  known[at].until_ns = now_ns() + KNOWN_MS * UINT64_C(1000000);
  return known[at].file;
}

static int spawn_anywhere(pid_t *pid, const char *program, const int *streams, const char *cwd, char **args, char *const *environment) {
  if (program[0] == 0) return ENOENT;
  if (strchr(program, '/') != NULL) return spawn_file(pid, program, streams, cwd, args, environment);
  const char *path = path_of(environment), *known = locate(program, path);
  if (known != NULL && spawn_file(pid, known, streams, cwd, args, environment) == 0) return 0;
  int denied = 0, error = ENOENT;
  for (char *file; (file = candidate(&path, program)) != NULL;) {
    /* Checked first, since an attempt to start it costs a process. */
    error = file[0] == '/' && access(file, X_OK) != 0 ? errno : spawn_file(pid, file, streams, cwd, args, environment);
    free(file);
    if (error == EACCES) denied = 1;
    else if (error != ENOENT && error != ENOTDIR && error != ENAMETOOLONG) return error;
  }
  return denied ? EACCES : error;
}

/* Makes a pipe that no command inherits; our end does not block. Returns an error number. */
static int open_pipe(int *ours, int *theirs, int we_read) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return errno;
  *ours = ends[we_read ? 0 : 1];
  *theirs = ends[we_read ? 1 : 0];
  return fcntl(*ours, F_SETFL, O_NONBLOCK) < 0 ? errno : 0;
}

static int start(struct run *r, const char *program, const char *cwd, char **args, char *const *environment, int has_input) {
  int theirs[3] = { -1, -1, -1 }, error = 0;
  for (int i = 0; i < 3 && error == 0; i++) {
    if (i > 0 || has_input) error = open_pipe(&r->streams[i].fd, &theirs[i], i > 0);
  }
  if (error == 0) {
    const int streams[] = { theirs[IN] < 0 ? null_fd : theirs[IN], theirs[OUT], theirs[ERR] };
    error = spawn_anywhere(&r->pid, program, streams, cwd, args, environment);
  }
  for (int i = 0; i < 3; i++) if (theirs[i] >= 0) close(theirs[i]);
  if (error != 0) for (int i = 0; i < 3; i++) close_stream(&r->streams[i]);
  return error;
}

static _Noreturn void out_of_step(void) {
  fprintf(stderr, "the pipe between server and helper is out of step\n");
  for (size_t i = 0; i < runs_count; i++) if (!runs[i]->reaped) kill(-runs[i]->pid, SIGKILL);
  exit(1);
}

/* The next string of a message; each string ends with a NUL. */
static char *next_string(uint8_t **at, const uint8_t *end) {
  uint8_t *nul = memchr(*at, 0, (size_t)(end - *at));
  if (nul == NULL) out_of_step();
  char *string = (char *)*at;
  *at = nul + 1;
  return string;
}

#ifdef SANDBOX
static int is_running(uint32_t mark) {
  for (size_t i = 0; i < runs_count; i++) if (!runs[i]->answered && runs[i]->mark == mark) return 1;
  return 0;
}

static uint32_t free_mark(void) {
  static uint32_t last;
  do last = last % MARKS + 1; while (is_running(last)); /* far fewer run at once */
  return last;
}
#endif

/* In a sandbox, makes the run's folder for temporary files and finds its rules. Returns an error number. */
static int prepare_run(struct run *r, char **environment, size_t count) {
#ifdef SANDBOX
  static const char name[] = "TMPDIR=";
  const struct rules *rules = rules_of(r->rules);
  current = r;
  r->mark = free_mark();
  memcpy(folder_variable, name, sizeof name);
  const int error = make_folder(rules, r->id, folder_variable + sizeof name - 1, sizeof folder_variable - sizeof name);
  for (size_t i = 0; i < count; i++) if (strncmp(environment[i], name, sizeof name - 1) == 0) environment[i] = folder_variable;
  environment[count] = folder_variable; /* an existing TMPDIR was replaced above, so both entries are equal */
  environment[count + 1] = NULL;
  return error;
#else
  (void)environment;
  (void)count;
  return r->rules == 0 ? 0 : EPERM;
#endif
}

/* Removes the folder for temporary files of a run. */
static void leave(struct run *r) {
#ifdef SANDBOX
  leave_folder(rules_of(r->rules), r->id);
#else
  (void)r;
#endif
}

#ifdef SANDBOX
static void change_rules(uint32_t type, uint32_t id, uint8_t *at, const uint8_t *end) {
  if (type == TO_FORGET_RULES) {
    forget_rules(id);
    return;
  }
  if (end - at < 16) out_of_step();
  const struct limits limits = { .memory_bytes_max = (uint64_t)get_u32(at) << 20, .processes_max = get_u32(at + 4), .cpu_ms_max = get_u32(at + 8) };
  uint32_t count = get_u32(at + 12);
  at += 16;
  if (count > (size_t)(end - at)) out_of_step();
  char **paths = sized(NULL, (count + 1) * sizeof *paths);
  for (uint32_t i = 0; i < count; i++) paths[i] = next_string(&at, end);
  keep_rules(id, limits, paths, count);
  free(paths);
}

/* ---- what commands use ---- */

/* Ends a command that uses more than it may, at once: it gets no time to use still more. */
static void end_excess(struct run *r, int exceeded) {
  if (r->exceeded == EXCEEDED_NOTHING) r->exceeded = exceeded;
  r->stopping = 1;
  watch(r);
  signal_group(r, SIGKILL);
  after(r, UNKILLABLE_MS, GIVE_UP);
}

static struct run *run_of(uint32_t mark) {
  for (size_t i = 0; i < runs_count; i++) if (runs[i]->mark == mark && !runs[i]->answered) return runs[i];
  return NULL;
}

static struct limits limits_of(const struct run *r) {
  const struct rules *rules = rules_of(r->rules);
  return rules == NULL ? (struct limits){ 0 } : rules->limits;
}

static void add_use(int pid, uint32_t mark) {
  struct run *r = run_of(mark);
  if (r == NULL) return;
  r->memory_bytes += memory_of(pid);
  r->processes += threads_of(pid);
  if (limits_of(r).cpu_ms_max > 0) r->cpu_ms += cpu_ms_of(pid);
}

static void add_exact_use(int pid, uint32_t mark) {
  struct run *r = run_of(mark);
  if (r != NULL) r->memory_bytes += exact_memory_of(pid);
}

static void end_exceeding(int pid, uint32_t mark) {
  const struct run *r = run_of(mark);
  if (r != NULL && r->exceeded >= EXCEEDED_MEMORY) kill(pid, SIGKILL);
}

static uint64_t memory_max(const struct run *r) {
  const uint64_t most = limits_of(r).memory_bytes_max;
  return most == 0 ? UINT64_MAX : most;
}

/* What a command has had of the processor. The first process of its namespace has waited for all that lost its parent. */
static int exceeds_cpu(struct run *r) {
  const uint32_t most = limits_of(r).cpu_ms_max;
  if (most == 0) return 0;
  add_cpu(&r->cpu, r->cpu_ms + (r->report < 0 ? 0 : cpu_ms_of(r->pid)));
  return r->cpu.used_ms > most;
}

/* Ends the commands that use more than they may, with all that they started. */
static void look_at_use(void) {
  if (runs_count == 0 || now_ns() < use_due_ns) return;
  int over = 0, ended = 0;
  for (size_t i = 0; i < runs_count; i++) runs[i]->memory_bytes = runs[i]->processes = runs[i]->cpu_ms = 0;
  each_marked(add_use);
  for (size_t i = 0; i < runs_count; i++) {
    struct run *r = runs[i];
    const uint32_t processes_max = limits_of(r).processes_max;
    if (r->memory_bytes > memory_max(r)) over = 1;
    if (r->answered) continue;
    const int exceeded = processes_max > 0 && r->processes > processes_max ? EXCEEDED_PROCESSES : exceeds_cpu(r) ? EXCEEDED_CPU : EXCEEDED_NOTHING;
    if (exceeded == EXCEEDED_NOTHING) continue;
    end_excess(r, exceeded);
    ended = 1;
  }
  if (over) {
    for (size_t i = 0; i < runs_count; i++) runs[i]->memory_bytes = 0;
    each_marked(add_exact_use);
    for (size_t i = 0; i < runs_count; i++) {
      if (runs[i]->answered || runs[i]->memory_bytes <= memory_max(runs[i])) continue;
      end_excess(runs[i], EXCEEDED_MEMORY);
      ended = 1;
    }
  }
  if (ended) each_marked(end_exceeding);
  use_due_ns = now_ns() + (ended ? 1 : USE_MS) * UINT64_C(1000000); /* what it had just started is found then */
}
#endif

/* ---- what commands left behind ---- */

static int is_command(int pid) {
  for (size_t i = 0; i < runs_count; i++) if (!runs[i]->reaped && runs[i]->pid == pid) return 1;
  return 0;
}

/* Whether a process that a command left behind belongs to none that runs. */
static int is_stray(int pid) {
#ifdef SANDBOX
  const uint32_t mark = mark_of(pid);
  return mark == 0 || !is_running(mark);
#else
  /* There is no mark that it could not take off. A process that is older than all that runs belongs to none of them. */
  const uint64_t started = started_at(pid);
  for (size_t i = 0; i < runs_count; i++) if (!runs[i]->answered && runs[i]->started <= started) return 0;
  return 1;
#endif
}

static void run_command(uint8_t *at, const uint8_t *end, const uint8_t *payload, size_t payload_bytes) {
  if (end - at < 32) out_of_step();
  struct run *r = sized(NULL, sizeof *r);
  *r = (struct run){ .report = -1, .id = get_u32(at), .live = (int)get_u32(at + 8), .head_max = get_u32(at + 12), .stop_bytes = get_u32(at + 16) };
  for (int i = 0; i < 3; i++) r->streams[i] = (struct stream){ .run = r, .fd = -1, .kind = (enum kind)i };
  int has_input = (int)get_u32(at + 4);
  size_t args_count = get_u32(at + 20), environment_count = get_u32(at + 24);
  r->rules = get_u32(at + 28);
  at += 32;
  size_t room = (size_t)(end - at); /* each string has at least one byte */
  if (args_count > room || environment_count > room) out_of_step();
  char **strings = sized(NULL, (args_count + environment_count + 5) * sizeof *strings);
  char *cwd = next_string(&at, end), *program = next_string(&at, end);
  char **args = strings + 1; /* `become` writes a shell's name before it */
  args[0] = program;
  for (size_t i = 0; i < args_count; i++) args[i + 1] = next_string(&at, end);
  args[args_count + 1] = NULL;
  char **environment = args + args_count + 2;
  for (size_t i = 0; i < environment_count; i++) environment[i] = next_string(&at, end);
  environment[environment_count] = NULL;
  if (at != end) out_of_step();

#ifndef SANDBOX
  r->started = ticks_now(); /* before it, so that none of its processes seems older */
#endif
  int error = prepare_run(r, environment, environment_count);
  if (error == 0) error = start(r, program, cwd, args, environment, has_input);
  if (error != 0) {
    char other[32];
    const char *name = name_of(error, other, sizeof other);
    const uint32_t numbers[] = { FROM_REFUSED, r->id, why_refused(error, program, cwd, path_of(environment)) };
    tell(numbers, 3, name, strlen(name), NULL, 0);
    leave(r);
    if (r->report >= 0) close(r->report);
    free(r);
  } else {
#ifdef SANDBOX
    if (runs_count == 0) use_due_ns = now_ns() + USE_MS * UINT64_C(1000000);
#endif
    if (runs_count == runs_room) runs = sized(runs, (runs_room = runs_room == 0 ? 16 : runs_room * 2) * sizeof *runs);
    runs[runs_count++] = r;
    const uint32_t numbers[] = { FROM_STARTED, r->id, (uint32_t)r->pid };
    tell(numbers, 3, NULL, 0, NULL, 0);
    if (has_input) {
      append(&r->input, payload, payload_bytes);
      feed(r);
    }
    if (r->streams[IN].fd >= 0) watch(r); /* the rest of the input is written when the pipe has room */
    else after(r, WATCH_MS, WATCH);
  }
  free(strings);
}

/* ---- messages of the server ---- */

static void take_message(uint8_t *at, const uint8_t *end, const uint8_t *payload, size_t payload_bytes) {
  if (end - at < 8) out_of_step();
  uint32_t type = get_u32(at), id = get_u32(at + 4);
  if (type == TO_RUN) run_command(at + 4, end, payload, payload_bytes);
  else if (type == TO_STOP) {
    for (size_t i = 0; i < runs_count; i++) if (runs[i]->id == id) stop(runs[i]);
#ifdef SANDBOX
  } else if (type == TO_KEEP_RULES || type == TO_FORGET_RULES) {
    change_rules(type, id, at + 8, end);
#endif
  } else out_of_step();
}

static void listen_to_server(void) {
  ssize_t n = read(CHANNEL, scratch, sizeof scratch);
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (n <= 0) end_all();
  append(&incoming, scratch, (size_t)n);
  while (incoming.end - incoming.start >= PREFIX_BYTES) {
    uint8_t *at = incoming.bytes + incoming.start;
    size_t text = get_u32(at), payload = get_u32(at + 4);
    if (text > PART_BYTES_MAX || payload > PART_BYTES_MAX) out_of_step();
    if (incoming.end - incoming.start - PREFIX_BYTES < text + payload) return;
    at += PREFIX_BYTES;
    take_message(at, at + text, at + text, payload);
    consume(&incoming, PREFIX_BYTES + text + payload);
  }
}

static void hear_of_ends(void) {
  struct signalfd_siginfo signals[16];
  while (read(child_fd, signals, sizeof signals) == (ssize_t)sizeof signals) { }
  for (size_t i = 0; i < runs_count; i++) look_after(runs[i]);
}

/* ---- the loop ---- */

static int next_due_ms(void) {
  uint64_t now = now_ns(), first = UINT64_MAX;
  for (size_t i = 0; i < runs_count; i++) if (runs[i]->due != NOTHING && runs[i]->due_ns < first) first = runs[i]->due_ns;
  if (first == UINT64_MAX) return -1;
  return first <= now ? 0 : (int)((first - now) / 1000000u) + 1;
}

/* The maximum wait for an event, in milliseconds; -1: no limit. After strays were killed, the search is repeated. */
static int wait_ms(void) {
  int due = next_due_ms();
  if (has_ended && (due < 0 || due > 1)) return 1;
#ifdef SANDBOX
  const uint64_t now = now_ns();
  const int use_ms = runs_count == 0 ? -1 : use_due_ns <= now ? 0 : (int)((use_due_ns - now) / 1000000u) + 1;
  if (use_ms >= 0 && (due < 0 || due > use_ms)) return use_ms;
#endif
  return due;
}

static void see_to_timers(void) {
  for (size_t i = 0; i < runs_count; i++) {
    if (runs[i]->due != NOTHING && now_ns() >= runs[i]->due_ns) come_due(runs[i]);
  }
}

/* Frees the runs that have ended. Must be called after all events of a turn, since events refer to runs. */
static void sweep(void) {
  size_t kept = 0;
  for (size_t i = 0; i < runs_count; i++) {
    struct run *r = runs[i];
    if (r->answered && r->reaped) {
      leave(r);
      if (r->report >= 0) close(r->report);
      free(r->head.bytes);
      free(r->input.bytes);
      free(r);
    } else runs[kept++] = r;
  }
  runs_count = kept;
}

static void prepare(void) {
  own_pid = getpid();
#ifndef SANDBOX
  adopt_strays();
#endif
  sigset_t blocked, child;
  sigemptyset(&no_signals);
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  /* A signal to the whole terminal or service must not end the helper: the server still drains, and the pipe closes
     when it has ended. Such signals are blocked, not ignored, so that a command only has to unblock them. Signals that
     the server ignores are set to their defaults. */
  blocked = child;
  for (size_t i = 0; i < 4; i++) sigaddset(&blocked, (const int[]){ SIGINT, SIGTERM, SIGHUP, SIGPIPE }[i]);
  for (int i = 1; i <= SIGRTMAX; i++) signal(i, SIG_DFL); /* fails for some signals, such as SIGKILL */
  if (sigprocmask(SIG_SETMASK, &blocked, NULL) < 0) fail("sigprocmask");
  if (fcntl(CHANNEL, F_SETFD, FD_CLOEXEC) < 0 || fcntl(CHANNEL, F_SETFL, O_NONBLOCK) < 0) fail("the pipe to the server");
  if ((child_fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK)) < 0) fail("signalfd");
  if ((null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) < 0) fail("/dev/null");
  if ((poll_fd = epoll_create1(EPOLL_CLOEXEC)) < 0) fail("epoll_create1");
  struct epoll_event event = { .events = EPOLLIN, .data.ptr = NULL };
  if (epoll_ctl(poll_fd, EPOLL_CTL_ADD, CHANNEL, &event) < 0) fail("epoll_ctl");
  event.data.ptr = &child_fd;
  if (epoll_ctl(poll_fd, EPOLL_CTL_ADD, child_fd, &event) < 0) fail("epoll_ctl");
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "--check") == 0) return 0; /* the build checks that the program can be executed */
#ifdef SYS_close_range
  syscall(SYS_close_range, CHANNEL + 1, ~0u, 0); /* a command must not inherit descriptors of the server */
#endif
#ifdef SANDBOX
  enter_sandbox(argc, argv);
#endif
  prepare();
  for (;;) {
    struct epoll_event events[EVENTS];
    int count = epoll_wait(poll_fd, events, EVENTS, wait_ms());
    if (count < 0 && errno != EINTR) fail("epoll_wait");
    for (int i = 0; i < count; i++) {
      if (events[i].data.ptr == NULL) {
        if (events[i].events & ~(uint32_t)EPOLLOUT) listen_to_server();
      } else if (events[i].data.ptr == &child_fd) hear_of_ends();
      else {
        struct stream *s = events[i].data.ptr;
        if (s->fd < 0) continue;
        if (s->kind == IN) feed(s->run);
        else {
          take(s);
          if (s->run->exited && is_closed(s->run)) finish(s->run);
        }
      }
    }
    see_to_timers();
#ifdef SANDBOX
    look_at_use();
    const int ended = has_ended;
#endif
    if (has_ended) has_ended = end_strays(is_command, is_stray);
    sweep();
#ifdef SANDBOX
    if (ended && !has_ended && runs_count == 0) empty_shared_memory();
#endif
    flush();
  }
}
