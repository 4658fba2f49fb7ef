/*
 * The level `strict` of the sandbox. Each command gets a namespace of processes of its own, with a small first process
 * (`init`), its own /proc, /dev/shm and folder for temporary files, which end with it. The first
 * process is a copy of the helper and can do what the helper can, so it lets go of all descriptors, and the command
 * can't trace it.
 */
#define _GNU_SOURCE
#include "strict.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
  REPORT = 3,         /* the descriptor by which the first process reports */
  RULES = 4,          /* the descriptor of the command's rules there */
  ABOVE = 5,
  PROCESSES_MIN = 301 /* the system accepts no lower limit in a namespace */
};
#define LIMIT(name) "/proc/sys/kernel/" name

static _Noreturn void fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  _exit(1);
}

/* ---- once, in the helper ---- */

static void make_folder_at(const char *path, mode_t mode) {
  if (mkdir(path, mode) < 0) fail(path);
}

static void mount_empty(const char *path, const char *options) {
  if (mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, options) < 0) fail(path);
}

/* Not read-only itself: for a namespace within, the system would allow no other /proc then. */
static int mount_proc(const char *path) {
  return mount("proc", path, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "hidepid=2");
}

/* Makes a mount read-only. */
static int seal(const char *path, unsigned long more) {
  return mount(NULL, path, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | more, NULL);
}

/* Shows a file or folder of the old root in the new one, which is the working directory. */
static int show(const char *from, const char *to) {
  struct stat status;
  char target[4096];
  if (lstat(from, &status) < 0) return 0;
  if (S_ISLNK(status.st_mode)) {
    const ssize_t length = readlink(from, target, sizeof target - 1);
    if (length <= 0) return 0;
    target[length] = 0;
    return symlink(target, to) == 0;
  }
  if (S_ISDIR(status.st_mode)) mkdir(to, 0755);
  else close(open(to, O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
  if (mount(from, to, NULL, MS_BIND | MS_REC, NULL) == 0) return 1;
  if (S_ISDIR(status.st_mode)) rmdir(to);
  else unlink(to);
  return 0;
}

static void make_devices(void) {
  static const char *const harmless[] = { "null", "zero", "full", "random", "urandom", "tty" };
  static const char *const links[][2] = {
    { "/proc/self/fd", "dev/fd" }, { "fd/0", "dev/stdin" }, { "fd/1", "dev/stdout" }, { "fd/2", "dev/stderr" }
  };
  make_folder_at("dev", 0755);
  mount_empty("dev", "size=64k,nr_inodes=64,mode=755");
  for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++) {
    char from[32];
    snprintf(from, sizeof from, "/dev/%s", harmless[i]);
    show(from, from + 1);
  }
  for (size_t i = 0; i < sizeof links / sizeof *links; i++) if (symlink(links[i][0], links[i][1]) < 0) fail(links[i][1]);
  make_folder_at("dev/shm", 0755);
  if (seal("dev", 0) < 0) fail("a read-only /dev");
}

static int open_folder(const char *path) {
  return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static int is_own(const char *name) {
  static const char *const own[] = { "proc", "sys", "dev", "run", "tmp", &OWN[1] };
  if (name[0] == '.') return 1;
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) if (strcmp(name, own[i]) == 0) return 1;
  return 0;
}

void enter_root(const char *home, struct machine *machine) {
  char system_devices[40];
  DIR *folder = opendir("/");
  const int devices = open_folder("/sys/devices");
  snprintf(system_devices, sizeof system_devices, "/proc/self/fd/%d/.", devices);
  if (folder == NULL) fail("/");
  mount_empty("/sys", "size=1m,nr_inodes=1024,mode=755");
  if (chdir("/sys") < 0) fail("a root of its own");
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    char from[300];
    snprintf(from, sizeof from, "/%s", entry->d_name);
    if (!is_own(entry->d_name)) show(from, entry->d_name);
  }
  closedir(folder);
  make_devices();
  for (int i = 0; i < 4; i++) make_folder_at((const char *const[]){ "sys", ".machine", "run", "tmp" }[i], 0755);
  show(system_devices, "sys/devices"); /* with all of /sys, its many file systems would be copied for each command */
  show("/tmp", ".machine/tmp");
  show("/run", ".machine/run");
  if (home != NULL) show(home, ".machine/home");
  mount_empty("tmp", "size=16m,nr_inodes=65536,mode=755");
  mount_empty("run", "size=1m,nr_inodes=1024,mode=755");
  make_folder_at(&OWN[1], 0755);
  make_folder_at(&OWN_PROC[1], 0755);
  if (symlink(&OWN_PROC[1], "proc") < 0 || mount_proc(&OWN_PROC[1]) < 0 || seal(&OWN_PROC[1], MS_NOEXEC) < 0) fail("a /proc of its own");
  machine->home = home == NULL || access(home + 1, F_OK) < 0 ? -1 : open_folder(".machine/home");
  if (machine->home >= 0) mount_empty(home + 1, "size=1m,nr_inodes=4096,mode=755");
  machine->tmp = open_folder(".machine/tmp");
  machine->run = open_folder(".machine/run");
  if (chmod(".machine", 0) < 0 || seal(".", 0) < 0) fail("a read-only root");
  close(devices);
  if (syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0 || chdir("/") < 0) fail("its own root");
}

/* ---- the first process of a namespace ---- */

static int limit_processes(uint32_t most) {
  char text[16];
  if (most == 0) return 0;
  /* Since Linux 6.14 a namespace has this limit of its own. Before, the file is the machine's, and can't be written. */
  int fd = open(LIMIT("pid_max"), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const int length = snprintf(text, sizeof text, "%u", most < PROCESSES_MIN ? PROCESSES_MIN : most);
  if (write(fd, text, (size_t)length) < 0) { /* the helper counts them */ }
  close(fd);
  return 0;
}

int arrange_inside(const struct inside *inside) {
  const unsigned long safe = MS_NOSUID | MS_NODEV;
  if (mount_proc(OWN_PROC) < 0) return errno;
  limit_processes(inside->processes_max);
  if (seal(OWN_PROC, MS_NOEXEC) < 0) return errno;
  /* One file system for both, since making one costs 40 µs. */
  if (mount("tmpfs", "/dev/shm", "tmpfs", safe, "size=256m,nr_inodes=65536,mode=755") < 0 || mkdir("/dev/shm/tmp", 0700) < 0 || mkdir("/dev/shm/shm", 0700) < 0) return errno;
  if (mount("/dev/shm/tmp", inside->folder, NULL, MS_BIND, NULL) < 0 || mount("/dev/shm/shm", "/dev/shm", NULL, MS_BIND, NULL) < 0) return errno;
  /* Of what all commands see, none can change the mode for the others. */
  const char *const shared[] = { "/tmp", "/run", inside->home };
  for (int i = 0; i < 3; i++) if (shared[i] != NULL && seal(shared[i], 0) < 0) return errno;
  return 0;
}

/* Other commands' streams would stay open with a copy of their descriptors. */
static int keep_only(const struct inside *inside, int report, int *rules) {
  const int from[] = { inside->streams[0], inside->streams[1], inside->streams[2], report, *rules };
  int copies[ABOVE];
  for (int i = 0; i < ABOVE; i++) if ((copies[i] = fcntl(from[i], F_DUPFD_CLOEXEC, ABOVE)) < 0) return errno;
  for (int i = 0; i < ABOVE; i++) if (dup3(copies[i], i, i < REPORT ? 0 : O_CLOEXEC) < 0) return errno;
  *rules = RULES;
  return syscall(SYS_close_range, ABOVE, ~0u, 0) < 0 ? errno : 0;
}

static void tell(int value) {
  while (write(REPORT, &value, sizeof value) < 0 && errno == EINTR) { }
}

static _Noreturn void be_init(const struct inside *inside, int report, int *rules) {
  pid_t command = 0;
  int error = keep_only(inside, report, rules);
  if (error == 0) error = arrange_inside(inside);
  if (error == 0) error = inside->start(inside->request, &command);
  tell(error);
  if (error != 0) _exit(1);
  for (int fd = 0; fd < REPORT; fd++) close(fd); /* the command alone holds its streams */
  close(RULES);
  sigset_t awaited;
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGCHLD);
  sigaddset(&awaited, SIGTERM);
  for (;;) {
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
      if (pid != command) continue;
      tell(status);
      _exit(0); /* the system ends all others in the namespace */
    }
    if (sigwaitinfo(&awaited, NULL) == SIGTERM) kill(-command, SIGTERM);
  }
}

int start_inside(const struct inside *inside, int *rules, pid_t *pid, int *report) {
  int ends[2], error;
  if (pipe2(ends, O_CLOEXEC) < 0) return errno;
  const long child = syscall(SYS_clone, CLONE_NEWPID | CLONE_NEWNS | SIGCHLD, 0, 0, 0, 0);
  if (child == 0) be_init(inside, ends[1], rules);
  error = child < 0 ? errno : 0;
  close(ends[1]);
  if (error == 0) {
    ssize_t n;
    while ((n = read(ends[0], &error, sizeof error)) < 0 && errno == EINTR) { }
    if (n != (ssize_t)sizeof error) error = ECHILD;
    if (error != 0) while (waitpid((pid_t)child, NULL, 0) < 0 && errno == EINTR) { }
  }
  if (error != 0) {
    close(ends[0]);
    return error;
  }
  *pid = (pid_t)child;
  *report = ends[0];
  return 0;
}

int status_of(int report) {
  int status;
  return read(report, &status, sizeof status) == (ssize_t)sizeof status ? status : -1;
}
