/*
 * What the program of a sandbox of its own, and all that it started, uses and leaves behind. Its first process sees them
 * in /proc, whichever thread or process started them: nothing else is in the namespace. When the first process ends, the
 * system ends all of them.
 *
 * The server says one byte each time: 'b', a run begins, whose time of the processor counts from now on; 'a', another run
 * begins beside it, so that they may use that much time for each; 'e', no run is left: this process ends where there are
 * processes beside the program, and answers 'c' where there are none. Before it ends because of a limit it says which:
 * 'm' memory, 'p' processes, 't' time of the processor.
 */
#define _GNU_SOURCE
#include "watch.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_MS = 100, REST_MS = 1000, OWN_PID = 1, ENDED = 128 + SIGKILL };

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void tell(const struct watch *watch, char letter) {
  while (write(watch->control, &letter, 1) < 0 && errno == EINTR) { }
}

/* Adds up what `value` says of each process but this one. */
static uint64_t sum(uint64_t (*value)(int pid)) {
  uint64_t all = 0;
  DIR *folder = opendir("/proc");
  if (folder == NULL) return 0;
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    const int pid = atoi(entry->d_name);
    if (pid > OWN_PID) all += value(pid);
  }
  closedir(folder);
  return all;
}

static uint64_t count_of(int pid) {
  return threads_of(pid);
}

/* Processes that have ended, and that their parents have not asked for, harm nobody. */
static uint64_t lives(int pid) {
  char path[40], text[512];
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
  if (fd >= 0) close(fd);
  if (length <= 0) return 0;
  text[length] = 0;
  const char *after_name = strrchr(text, ')');
  return after_name != NULL && after_name[1] == ' ' && after_name[2] != 'Z' && after_name[2] != 'X';
}

/* What all have used, those included that have lost their parents and ended. */
static uint64_t all_cpu_ms(void) {
  struct rusage ended;
  getrusage(RUSAGE_CHILDREN, &ended);
  const uint64_t ended_us = (uint64_t)(ended.ru_utime.tv_sec + ended.ru_stime.tv_sec) * 1000000u + (uint64_t)(ended.ru_utime.tv_usec + ended.ru_stime.tv_usec);
  return sum(cpu_ms_of) + ended_us / 1000;
}

static _Noreturn void end(const struct watch *watch, char why) {
  tell(watch, why);
  _exit(ENDED);
}

static void check(struct watch *watch, uint64_t cpu_ms) {
  const struct limits *limits = &watch->limits;
  if (limits->processes_max > 0 && sum(count_of) > limits->processes_max) end(watch, 'p');
  if (limits->memory_bytes_max > 0 && sum(memory_of) > limits->memory_bytes_max && sum(exact_memory_of) > limits->memory_bytes_max) end(watch, 'm');
  if (watch->runs == 0) return;
  add_cpu(&watch->cpu, cpu_ms);
  if (limits->cpu_ms_max > 0 && watch->cpu.used_ms > watch->runs * (uint64_t)limits->cpu_ms_max) end(watch, 't');
}

int look(struct watch *watch) {
  const struct limits *limits = &watch->limits;
  if (limits->memory_bytes_max == 0 && limits->processes_max == 0 && limits->cpu_ms_max == 0) return -1;
  const uint64_t now = now_ns();
  if (now >= watch->due_ns) {
    const uint64_t cpu_ms = all_cpu_ms();
    check(watch, cpu_ms);
    /* Who uses more of anything also uses the processor. Where nothing happens, looking would be all that does. */
    watch->wait_ms = cpu_ms != watch->looked_ms ? LOOK_MS : watch->wait_ms * 2 > REST_MS ? REST_MS : watch->wait_ms * 2;
    if (watch->wait_ms == 0) watch->wait_ms = LOOK_MS;
    watch->looked_ms = cpu_ms;
    watch->due_ns = now + (uint64_t)watch->wait_ms * 1000000u;
  }
  return (int)((watch->due_ns - now) / 1000000u) + 1;
}

void hear(struct watch *watch) {
  char letter;
  const ssize_t length = read(watch->control, &letter, 1);
  if (length < 0 && errno == EINTR) return;
  if (length <= 0) _exit(0); /* the server is gone */
  if (letter == 'b') {
    watch->runs = 1;
    watch->cpu = (struct cpu_use){ .seen_ms = watch->limits.cpu_ms_max == 0 ? 0 : all_cpu_ms() };
    watch->due_ns = now_ns() + LOOK_MS * UINT64_C(1000000);
  } else if (letter == 'a') {
    watch->runs++;
  } else {
    watch->runs = 0;
    if (sum(lives) > 1) _exit(ENDED);
    tell(watch, 'c');
  }
}
