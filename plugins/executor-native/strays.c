/*
 * Finds and ends the processes that commands leave behind. When the parent of a process ends, the process becomes a
 * child of the nearest one above it that adopts: the helper. So its children that it did not start itself are strays.
 */
#define _GNU_SOURCE
#include "strays.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The children of this process as text, with a space after each; NULL where the system does not tell. */
static char *children(void) {
  static int fd = -1;
  static char text[1 << 16];
  if (fd < 0) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    fd = open(path, O_RDONLY | O_CLOEXEC);
  }
  ssize_t length = fd < 0 ? -1 : pread(fd, text, sizeof text - 1, 0);
  if (length < 0) return NULL;
  text[length] = 0;
  return text;
}

void adopt_strays(void) {
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

int end_strays(int (*is_command)(int pid), int (*is_stray)(int pid)) {
  int strays = 0;
  char *at = children();
  if (at == NULL) return 0;
  for (char *end; (end = strchr(at, ' ')) != NULL; at = end + 1) {
    int pid = atoi(at);
    if (pid <= 0 || is_command(pid)) continue;
    if (waitpid(pid, NULL, WNOHANG) == pid || !is_stray(pid)) continue; /* it has ended by itself, or may go on */
    strays = 1;
    kill(pid, SIGKILL);
    waitpid(pid, NULL, WNOHANG);
  }
  return strays;
}

void end_children(int ms_max) {
  const struct timespec pause = { .tv_nsec = 1000000 };
  for (int ms = 0; ms < ms_max; ms++) {
    char *at = children();
    if (at == NULL || *at == 0) return;
    for (char *end; (end = strchr(at, ' ')) != NULL; at = end + 1) kill(atoi(at), SIGKILL);
    while (waitpid(-1, NULL, WNOHANG) > 0) { }
    nanosleep(&pause, NULL);
  }
}

uint64_t started_at(int pid) {
  char path[40], text[1024];
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
  if (fd >= 0) close(fd);
  if (length <= 0) return UINT64_MAX;
  text[length] = 0;
  char *at = strrchr(text, ')'); /* the name before it may contain anything */
  for (int field = 2; at != NULL && field < 22; field++) at = strchr(at + 1, ' ');
  return at == NULL ? UINT64_MAX : strtoull(at + 1, NULL, 10);
}
