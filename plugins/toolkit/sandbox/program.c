/*
 * Runs one long-lived program in the sandbox: the home of scripts that are confined, or an MCP server. It is the first process of its own
 * pid namespace, so whatever the program starts ends with it. It ends when the program ends, or when the server closes
 * the channel or dies.
 *
 *   program --sandbox --network on|off [--level LEVEL] [--home PATH] [--proxy PORT] [--proxy-channel 5]
 *           [--streams kept] [--write PATH]... [--hide PATH]...
 *
 * With `--streams kept`, the program keeps its standard input and output and does not get the channel, where each
 * further byte of the server then asks the program to end (SIGTERM).
 *
 * Descriptor 4 is for this first process alone, where the server gives it: see watch.c. Descriptor 3 is the channel to
 * the server. The server's first message on it says what is run; the rest is the program's, which finds the channel at
 * the same number. confined-program.ts writes this message:
 *
 *   its length without these 4 bytes; the numbers of paths, of arguments and of variables, and the bytes of a file; the
 *   limits (MiB of memory, processes, milliseconds of the processor; 0: none);
 *   then texts, each with a NUL at its end: the paths, `r` or `w` before each; the working directory; the arguments,
 *   the first of which is the program's absolute path; the variables. At the end stands the file, which the program
 *   finds beside its folder for temporary files as `module.mjs`. All numbers have 32 bits, little endian.
 */
#define _GNU_SOURCE
#include "sandbox.h"
#include "watch.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHANNEL = 3, CONTROL = 4, PROXY = 5, RULES = 1, RUN = 1, NUMBERS = 7, MESSAGE_BYTES_MAX = 1 << 28, NOT_STARTED = 126, BY_SIGNAL = 128 };

static int keeps_streams, has_control;

static _Noreturn void fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  _exit(1);
}

static void read_whole(uint8_t *at, size_t bytes) {
  while (bytes > 0) {
    ssize_t n = read(CHANNEL, at, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) _exit(0); /* the server is gone */
    at += n;
    bytes -= (size_t)n;
  }
}

static uint32_t read_number(const uint8_t *at) {
  return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static char *next_text(uint8_t **at, const uint8_t *end) {
  uint8_t *nul = memchr(*at, 0, (size_t)(end - *at));
  errno = EPROTO;
  if (nul == NULL) fail("the first message");
  char *text = (char *)*at;
  *at = nul + 1;
  return text;
}

static char **next_texts(uint8_t **at, const uint8_t *end, uint32_t count, uint32_t more) {
  errno = EPROTO;
  if (count > (size_t)(end - *at)) fail("the first message");
  char **texts = calloc((size_t)count + more + 1, sizeof *texts);
  if (texts == NULL) fail("no memory");
  for (uint32_t i = 0; i < count; i++) texts[i] = next_text(at, end);
  return texts;
}

/* The folder for temporary files as a variable, in the place of one with the same name. */
static void name_folder(char **environment, uint32_t count, const char *folder) {
  static char variable[96];
  snprintf(variable, sizeof variable, "TMPDIR=%s", folder);
  for (uint32_t i = 0; i < count; i++) if (strncmp(environment[i], "TMPDIR=", 7) == 0) environment[i] = variable;
  environment[count] = variable;
}

static void write_module(const struct rules *rules, const uint8_t *bytes, size_t count) {
  char path[80];
  snprintf(path, sizeof path, "%s/module.mjs", rules->folder);
  int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) fail(path);
  while (count > 0) {
    ssize_t n = write(fd, bytes, count);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail(path);
    bytes += n;
    count -= (size_t)n;
  }
  close(fd);
}

/* Standard input and output are another process's, or nobody's. */
static void leave_streams(void) {
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || (null > 2 && close(null) < 0)) fail("/dev/null");
}

static _Noreturn void become(const char *cwd, char **args, char **environment) {
  sigset_t none;
  sigemptyset(&none);
  for (int i = 1; i <= SIGRTMAX; i++) signal(i, SIG_DFL); /* fails for some signals, such as SIGKILL */
  if (!keeps_streams) leave_streams();
  if (setsid() < 0) fail("a session");
  if (fcntl(CHANNEL, F_SETFD, keeps_streams ? FD_CLOEXEC : 0) < 0 || sigprocmask(SIG_SETMASK, &none, NULL) < 0) fail("the channel");
  /* Of a folder in /tmp with nothing in it but secrets, nothing is in the sandbox. Scripts can begin elsewhere. */
  if (chdir(cwd) < 0 && (keeps_streams || chdir("/") < 0)) fail(cwd);
  errno = enter_for_good(rules_of(RULES));
  if (errno != 0) fail("confinement");
  execve(args[0], args, environment);
  fprintf(stderr, "%s: %s\n", args[0], strerror(errno));
  _exit(NOT_STARTED);
}

static pid_t start(struct limits *limits) {
  uint8_t prefix[4];
  read_whole(prefix, sizeof prefix);
  const uint32_t bytes = read_number(prefix);
  errno = EPROTO;
  if (bytes < 4 * NUMBERS || bytes > MESSAGE_BYTES_MAX) fail("the first message");
  uint8_t *message = malloc(bytes);
  if (message == NULL) fail("no memory");
  read_whole(message, bytes);
  uint8_t *at = message + 4 * NUMBERS;
  const uint8_t *end = message + bytes;
  const uint32_t path_count = read_number(message), arg_count = read_number(message + 4), variable_count = read_number(message + 8);
  const uint32_t file_bytes = read_number(message + 12);
  char **paths = next_texts(&at, end, path_count, 0), *cwd = next_text(&at, end);
  char **args = next_texts(&at, end, arg_count, 0), **environment = next_texts(&at, end, variable_count, 1);
  if (arg_count == 0 || file_bytes != (size_t)(end - at)) fail("the first message");
  *limits = (struct limits){ .memory_bytes_max = (uint64_t)read_number(message + 16) << 20, .processes_max = read_number(message + 20), .cpu_ms_max = read_number(message + 24) };
  keep_rules(RULES, *limits, paths, path_count);
  char folder[80];
  errno = make_folder(rules_of(RULES), RUN, folder, sizeof folder);
  if (errno != 0) fail("a folder for temporary files");
  name_folder(environment, variable_count, folder);
  if (file_bytes > 0) write_module(rules_of(RULES), at, file_bytes);
  errno = arrange_own(rules_of(RULES), folder);
  if (errno != 0) fail("file systems of its own");
  pid_t program = fork();
  if (program < 0) fail("fork");
  if (program == 0) become(cwd, args, environment);
  free(message);
  free(paths);
  free(args);
  free(environment);
  return program;
}

/* Reaps what has ended. When the program has ended, this process ends as it did, and the system ends all that is left. */
static void reap(pid_t program) {
  int status;
  for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
    if (pid == program) _exit(WIFEXITED(status) ? WEXITSTATUS(status) : BY_SIGNAL + WTERMSIG(status));
  }
}

/* The server asks the program to end, has closed the channel, or is gone. */
static void hear_server(pid_t program, short events) {
  char byte;
  if (!keeps_streams || (events & POLLIN) == 0) _exit(0);
  const ssize_t n = read(CHANNEL, &byte, 1);
  if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) _exit(0);
  if (n > 0) kill(program, SIGTERM);
}

static int has_argument(int argc, char **argv, const char *name) {
  for (int i = 2; i + 1 < argc; i += 2) if (strcmp(argv[i], name) == 0) return 1;
  return 0;
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "--check") == 0) return 0; /* the build checks that the program can be executed */
  has_control = fcntl(CONTROL, F_GETFD) >= 0; /* before another file gets this number */
#ifdef SYS_close_range
  const int has_proxy = has_argument(argc, argv, "--proxy-channel");
  syscall(SYS_close_range, has_proxy ? PROXY + 1 : CONTROL + 1, ~0u, 0); /* what is the server's alone */
#endif
  keeps_streams = has_argument(argc, argv, "--streams");
  enter_sandbox(argc, argv);
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  signal(SIGCHLD, SIG_DFL);
  if (sigprocmask(SIG_SETMASK, &child, NULL) < 0) fail("sigprocmask");
  const int ends = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  if (ends < 0) fail("signalfd");
  if (has_control && fcntl(CONTROL, F_SETFD, FD_CLOEXEC) < 0) fail("descriptors");
  struct limits limits;
  const pid_t program = start(&limits);
  leave_streams();
  struct watch watch = { .control = has_control ? CONTROL : -1, .program = program, .limits = limits };
  struct pollfd watched[] = {
    { .fd = CHANNEL, .events = keeps_streams ? POLLIN | POLLRDHUP : POLLRDHUP }, { .fd = ends, .events = POLLIN },
    { .fd = watch.control, .events = POLLIN }
  };
  for (;;) {
    reap(program);
    if (poll(watched, 3, look(&watch)) < 0 && errno != EINTR) fail("poll");
    if (watched[0].revents != 0) hear_server(program, watched[0].revents);
    if (watched[2].revents != 0) hear(&watch);
    struct signalfd_siginfo info[8];
    while (read(ends, info, sizeof info) > 0) { }
  }
}
