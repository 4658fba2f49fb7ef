/*
 * The level `strict` of the sandbox. Each command gets a namespace of processes of its own, with a small first process
 * (`init`), its own /proc, System V memory, /dev/shm and folder for temporary files, which end with it. The first
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

static void show_device(int devices, const char *name) {
  char source[64], target[64];
  snprintf(source, sizeof source, "/proc/self/fd/%d/%s", devices, name);
  snprintf(target, sizeof target, "/dev/%s", name);
  close(open(target, O_CREAT | O_WRONLY | O_CLOEXEC, 0666));
  if (mount(source, target, NULL, MS_BIND, NULL) < 0) unlink(target);
}

static void make_devices(void) {
  static const char *const harmless[] = { "null", "zero", "full", "random", "urandom", "tty" };
  static const char *const links[][2] = {
    { "/proc/self/fd", "/dev/fd" }, { "fd/0", "/dev/stdin" }, { "fd/1", "/dev/stdout" }, { "fd/2", "/dev/stderr" }
  };
  int devices = open("/dev", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (devices < 0 || mount("tmpfs", "/dev", "tmpfs", MS_NOSUID | MS_NOEXEC, "size=64k,nr_inodes=64,mode=755") < 0) fail("/dev");
  for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++) show_device(devices, harmless[i]);
  for (size_t i = 0; i < sizeof links / sizeof *links; i++) if (symlink(links[i][0], links[i][1]) < 0) fail(links[i][1]);
  if (mkdir("/dev/shm", 0755) < 0) fail("/dev/shm");
  if (mount("tmpfs", "/dev", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NOEXEC, NULL) < 0) fail("a read-only /dev");
  close(devices);
}

void hide_home_and_devices(const char *home, int *home_fd) {
  make_devices();
  *home_fd = home == NULL ? -1 : open(home, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (*home_fd >= 0 && mount("tmpfs", home, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,nr_inodes=4096,mode=755") < 0) fail(home);
}

/* Shows a file or folder of the old root in the new one. */
static void show(const char *root, const char *name) {
  struct stat status;
  char from[300], to[600], target[4096];
  snprintf(from, sizeof from, "/%s", name);
  snprintf(to, sizeof to, "%s/%s", root, name);
  if (lstat(from, &status) < 0) return;
  if (S_ISLNK(status.st_mode)) {
    const ssize_t length = readlink(from, target, sizeof target - 1);
    if (length <= 0) return;
    target[length] = 0;
    if (symlink(target, to) < 0) fail(to);
    return;
  }
  if (S_ISDIR(status.st_mode)) mkdir(to, 0755);
  else close(open(to, O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
  /* The new root lies below /run, which can't be shown with all that is in it. */
  if (mount(from, to, NULL, MS_BIND | (strcmp(name, "run") == 0 ? 0 : MS_REC), NULL) < 0) rmdir(to);
}

void enter_root(void) {
  static const char root[] = "/run/root", *const private[] = { "/run/root" OWN, "/run/root" OWN "/proc" };
  DIR *folder = opendir("/");
  if (folder == NULL || mkdir(root, 0755) < 0 || mount("tmpfs", root, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,nr_inodes=1024,mode=755") < 0) fail("a root of its own");
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    if (entry->d_name[0] != '.' && strcmp(entry->d_name, "proc") != 0 && strcmp(entry->d_name, OWN + 1) != 0) show(root, entry->d_name);
  }
  closedir(folder);
  for (int i = 0; i < 2; i++) if (mkdir(private[i], 0755) < 0) fail(private[i]);
  if (symlink(OWN "/proc", "/run/root/proc") < 0 || mount("/proc", private[1], NULL, MS_MOVE, NULL) < 0) fail("the /proc of its own root");
  if (mount(NULL, root, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) < 0) fail("a read-only root");
  if (chroot(root) < 0 || chdir("/") < 0) fail("its own root");
}

/* ---- the first process of a command's namespace ---- */

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

static int arrange(const struct inside *inside) {
  const unsigned long safe = MS_NOSUID | MS_NODEV;
  if (mount("proc", OWN "/proc", "proc", safe | MS_NOEXEC, "hidepid=2") < 0) return errno;
  limit_processes(inside->processes_max);
  if (mount(NULL, OWN "/proc", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | safe | MS_NOEXEC, NULL) < 0) return errno;
  if (mount("tmpfs", inside->folder, "tmpfs", safe, "size=256m,nr_inodes=65536,mode=700") < 0) return errno;
  /* Of what all commands see, none can change the mode for the others. */
  const char *const shared[] = { "/tmp", "/run", inside->home };
  for (int i = 0; i < 3; i++) if (shared[i] != NULL && mount(NULL, shared[i], NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | safe, NULL) < 0) return errno;
  return mount("tmpfs", "/dev/shm", "tmpfs", safe | MS_NOEXEC, "size=64m,nr_inodes=4096,mode=1777") < 0 ? errno : 0;
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
  if (error == 0) error = arrange(inside);
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
  const long child = syscall(SYS_clone, CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | SIGCHLD, 0, 0, 0, 0);
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
