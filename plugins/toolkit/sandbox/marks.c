/*
 * The mark that all processes of a command bear, whatever they do: how late the system may wake them (timer slack), in
 * nanoseconds above the usual 50 µs. New processes inherit it, executing a program does not change it, and setting it
 * costs one system call. The filter allows that call only with a number that commands do not know; /proc is read-only
 * for them; and a limit keeps them from the scheduling policies that set it to 0.
 */
#define _GNU_SOURCE
#include "marks.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { USUAL_NS = 50000 };

static uint32_t permit[2];

void draw_permit(void) {
  const struct rlimit none = { 0 };
  if (syscall(SYS_getrandom, permit, sizeof permit, 0) != (long)sizeof permit || setrlimit(RLIMIT_RTPRIO, &none) < 0) {
    perror("the permit of marks");
    _exit(1);
  }
}

void filter_marks(struct sock_filter *part) {
  const uint32_t word = offsetof(struct seccomp_data, args[1]) - offsetof(struct seccomp_data, args[0]);
  const uint32_t option = offsetof(struct seccomp_data, args[0]), number = option + 2 * word; /* prctl's third */
  const struct sock_filter made[MARK_FILTER_LENGTH] = {
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, MARK_FILTER_LENGTH - 1),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, option),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_TIMERSLACK, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, number),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, permit[0], 0, 3),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, number + 4),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, permit[1], 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    /* A program that wants more exact timers runs on without them. */
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 0)
  };
  for (int i = 0; i < MARK_FILTER_LENGTH; i++) part[i] = made[i];
}

int take_mark(uint32_t mark) {
  const unsigned long number = (unsigned long)permit[1] << 32 | permit[0];
  return prctl(PR_SET_TIMERSLACK, (unsigned long)USUAL_NS + mark, number, 0, 0) < 0 ? errno : 0;
}

uint32_t mark_of(int pid) {
  char path[40], text[32];
  snprintf(path, sizeof path, "/proc/%d/timerslack_ns", pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
  if (fd >= 0) close(fd);
  if (length <= 0) return 0;
  text[length] = 0;
  const unsigned long long slack = strtoull(text, NULL, 10);
  return slack > USUAL_NS && slack <= USUAL_NS + MARKS ? (uint32_t)(slack - USUAL_NS) : 0;
}
