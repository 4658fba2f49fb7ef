/*
 * The most a system can do: posix_spawn and wait in a loop, one process for each core.
 * Usage: spawn-loop PROCESSES SECONDS PROGRAM. Prints {"runs", "seconds"} as JSON.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static unsigned long loop(char *program, double until_s) {
  char *args[] = { program, NULL };
  unsigned long runs = 0;
  while (now_s() < until_s) {
    pid_t pid;
    int status, error = posix_spawnp(&pid, program, NULL, NULL, args, environ);
    if (error != 0 || waitpid(pid, &status, 0) != pid || status != 0) {
      fprintf(stderr, "spawn-loop: %s failed: %s\n", program, strerror(error));
      exit(1);
    }
    runs++;
  }
  return runs;
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  int processes = atoi(argv[1]);
  if (processes < 1 || processes > 1024) return 2;
  unsigned long *runs = mmap(NULL, (size_t)processes * sizeof *runs, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (runs == MAP_FAILED) return 1;
  double began_s = now_s(), until_s = began_s + strtod(argv[2], NULL);
  for (int i = 0; i < processes; i++) {
    pid_t pid = fork();
    if (pid < 0) return 1;
    if (pid == 0) {
      runs[i] = loop(argv[3], until_s);
      _exit(0);
    }
  }
  unsigned long all = 0;
  int status, failed = 0;
  while (wait(&status) > 0 || errno == EINTR) failed |= status;
  for (int i = 0; i < processes; i++) all += runs[i];
  printf("{\"runs\":%lu,\"seconds\":%.6f}\n", all, now_s() - began_s);
  return failed != 0;
}
