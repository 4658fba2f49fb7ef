/* Looks up in /proc what the processes of commands use. Where a process has ended meanwhile, it uses nothing. */
#define _GNU_SOURCE
#include "use.h"
#include "marks.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KIB = 1024 };

static ssize_t read_text(int pid, const char *name, char *text, size_t bytes) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t length = fd < 0 ? -1 : read(fd, text, bytes - 1);
  if (fd >= 0) close(fd);
  text[length < 0 ? 0 : length] = 0;
  return length;
}

void each_marked(void (*visit)(int pid, uint32_t mark)) {
  DIR *folder = opendir("/proc");
  if (folder == NULL) return;
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    const int pid = atoi(entry->d_name);
    const uint32_t mark = pid > 0 ? mark_of(pid) : 0;
    if (mark != 0) visit(pid, mark);
  }
  closedir(folder);
}

uint64_t memory_of(int pid) {
  char text[128];
  unsigned long long whole, resident;
  if (read_text(pid, "statm", text, sizeof text) <= 0 || sscanf(text, "%llu %llu", &whole, &resident) != 2) return 0;
  return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t field(const char *text, const char *name) {
  const char *at = strstr(text, name);
  return at == NULL ? 0 : strtoull(at + strlen(name), NULL, 10) * KIB;
}

uint64_t exact_memory_of(int pid) {
  char text[2048];
  if (read_text(pid, "smaps_rollup", text, sizeof text) <= 0) return 0;
  return field(text, "Pss_Anon:") + field(text, "Pss_Shmem:");
}

uint64_t cpu_ms_of(int pid) {
  char text[1024];
  unsigned long long user, system, children_user, children_system;
  if (read_text(pid, "stat", text, sizeof text) <= 0) return 0;
  const char *after_name = strrchr(text, ')'); /* a program chooses its name, brackets and blanks included */
  if (after_name == NULL) return 0;
  if (sscanf(after_name + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu", &user, &system, &children_user, &children_system) != 4) return 0;
  return (user + system + children_user + children_system) * 1000 / (uint64_t)sysconf(_SC_CLK_TCK);
}

void add_cpu(struct cpu_use *use, uint64_t now_ms) {
  if (now_ms > use->seen_ms) use->used_ms += now_ms - use->seen_ms;
  use->seen_ms = now_ms;
}

uint32_t threads_of(int pid) {
  char path[40];
  struct stat status;
  snprintf(path, sizeof path, "/proc/%d/task", pid);
  return stat(path, &status) < 0 || status.st_nlink < 3 ? 0 : (uint32_t)status.st_nlink - 2;
}
