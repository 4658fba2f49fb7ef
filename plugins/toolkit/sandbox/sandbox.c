/*
 * The sandbox of the helper in C. Namespaces cost milliseconds, so the helper enters them once, at its start: user, mount,
 * pid, ipc, uts, and network where its commands have none. What differs from skill to skill is a Landlock ruleset, which
 * is made once for each skill and costs a command some microseconds. Linux only.
 *
 * A command has no capability and can get none; it sees the file system read-only, with other /proc, /tmp, /run and
 * /dev/shm; what its rules do not name it can neither read nor list; it reaches no process, socket or key of the machine.
 *
 * Numbers and structures of the system are written out where the headers of older distributions lack them: they are the
 * kernel's interface to programs and never change.
 */
#define _GNU_SOURCE
#include "sandbox.h"
#include "marks.h"
#include "proxy-listener.h"
#include "starter.h"
#include "strict.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static _Noreturn void fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  _exit(1);
}

/* ---- Landlock ---- */

enum { CREATE_RULESET = 444, ADD_RULE = 445, RESTRICT_SELF = 446, MOUNT_SETATTR = 442, PATH_BENEATH = 1, VERSION_FLAG = 1 };
enum { SCOPE_ABSTRACT_SOCKETS = 1, SCOPE_SIGNALS = 2 };

/* Rights on files, by bit. */
#define EXECUTE (1ULL << 0)
#define WRITE_FILE (1ULL << 1)
#define READ_FILE (1ULL << 2)
#define READ_DIRECTORY (1ULL << 3)
#define MAKE_CHAR_DEVICE (1ULL << 6)
#define MAKE_BLOCK_DEVICE (1ULL << 11)
#define TRUNCATE (1ULL << 14)
#define USE_DEVICE (1ULL << 15)
/* All rights of an interface version. 1: the first 13; 2: moving between folders; 3: truncating; 5: ioctl on devices. */
static const uint64_t all_rights[] = { 0, 0x1fff, 0x3fff, 0x7fff, 0x7fff, 0xffff };

struct ruleset_attributes { uint64_t files, network, scopes; };
struct path_attributes { uint64_t rights; int32_t folder; } __attribute__((packed));
struct mount_attributes { uint64_t set, clear, propagation, user_namespace; };

static int landlock_version, tmp_fd = -1, run_fd = -1, shm_fd = -1, home_fd = -1;
static char home_path[4096], home_folder[4098]; /* the home directory, and with a slash, where it is hidden */
static int strict;
static struct rules *all_rules;

static uint64_t known_rights(void) {
  return all_rights[landlock_version > 5 ? 5 : landlock_version];
}

static uint64_t file_rights(uint64_t rights) {
  return rights & (EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | USE_DEVICE);
}

static void allow(int ruleset, const char *path, uint64_t rights) {
  struct stat status;
  int fd = open(path, O_PATH | O_CLOEXEC);
  if (fd < 0) return; /* it was removed; what is not named is not allowed */
  if (fstat(fd, &status) == 0) {
    struct path_attributes rule = { .rights = rights & known_rights(), .folder = fd };
    if (!S_ISDIR(status.st_mode)) rule.rights = file_rights(rule.rights);
    syscall(ADD_RULE, ruleset, PATH_BENEATH, &rule, 0);
  }
  close(fd);
}

static int new_ruleset(void) {
  struct ruleset_attributes attributes = { .files = known_rights(), .scopes = landlock_version >= 6 ? SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS : 0 };
  /* Older interfaces know the first member, or the first two. */
  size_t bytes = landlock_version >= 6 ? sizeof attributes : landlock_version >= 4 ? 16 : 8;
  return (int)syscall(CREATE_RULESET, &attributes, bytes, 0);
}

/* ---- mounts ---- */

static int change_mount(const char *path, uint64_t set, uint64_t clear, int below) {
  struct mount_attributes attributes = { .set = set, .clear = clear };
  return (int)syscall(MOUNT_SETATTR, AT_FDCWD, path, below ? AT_RECURSIVE : 0, &attributes, sizeof attributes);
}

static void make_folders(char *path) {
  for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    mkdir(path, 0755);
    *slash = '/';
  }
}

/* Shows a file or folder of the machine that one of our own file systems hides. */
static void expose(const char *path, int writable) {
  static const struct { const char *folder; int *fd; } hidden[] = {
    { "/tmp/", &tmp_fd }, { "/run/", &run_fd }, { "/dev/shm/", &shm_fd }, { home_folder, &home_fd }
  };
  for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++) {
    size_t length = strlen(hidden[i].folder);
    if (strncmp(path, hidden[i].folder, length) != 0 || *hidden[i].fd < 0) continue;
    struct stat status, there;
    char source[4200], target[4200];
    snprintf(source, sizeof source, "/proc/self/fd/%d/%s", *hidden[i].fd, path + length);
    snprintf(target, sizeof target, "%s", path);
    if (stat(source, &status) < 0) return;
    if (stat(target, &there) == 0 && there.st_dev == status.st_dev && there.st_ino == status.st_ino) return;
    make_folders(target);
    if (S_ISDIR(status.st_mode)) mkdir(target, 0755);
    else close(open(target, O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
    if (mount(source, target, NULL, MS_BIND | MS_REC, NULL) == 0) change_mount(target, MOUNT_ATTR_NOSUID | (writable ? 0 : MOUNT_ATTR_RDONLY), writable ? MOUNT_ATTR_RDONLY : 0, 1);
  }
}

/* An empty file system of our own. Returns the folder that it hides. */
static int cover(const char *path, const char *options) {
  int below = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (below < 0) return -1;
  if (mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, options) < 0) fail(path);
  return below;
}

static void hide(const char *path) {
  struct stat status;
  if (lstat(path, &status) < 0 || S_ISLNK(status.st_mode)) return;
  if (S_ISDIR(status.st_mode)) {
    if (mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, "size=4k,nr_inodes=2,mode=000") < 0) fail(path);
  } else if (S_ISREG(status.st_mode)) {
    if (mount("/dev/null", path, NULL, MS_BIND, NULL) < 0) fail(path);
  }
}

/* Names are often resolved by a file below /run, which is hidden. */
static void keep_resolver(void) {
  char *real = realpath("/etc/resolv.conf", NULL);
  if (real != NULL) expose(real, 0);
  free(real);
}

static char *home_of(int argc, char **argv) {
  for (int i = 2; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--home") != 0) continue;
    snprintf(home_path, sizeof home_path, "%s", argv[i + 1]);
    snprintf(home_folder, sizeof home_folder, "%s/", home_path);
    return home_path;
  }
  return NULL;
}

/* Covers folders of the machine that commands do not see as they are. */
static void cover_folders(void) {
  if (tmp_fd >= 0) close(tmp_fd);
  tmp_fd = cover("/tmp", "size=256m,nr_inodes=65536,mode=755");
  run_fd = cover("/run", "size=1m,nr_inodes=1024,mode=755");
  shm_fd = cover("/dev/shm", "size=64m,nr_inodes=4096,mode=1777");
  if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "hidepid=2") < 0) fail("a /proc of its own");
  /* Root may write the system's settings there without any capability. */
  if (change_mount("/proc", MOUNT_ATTR_RDONLY, 0, 0) < 0) fail("a read-only /proc");
}

static void change_root(const char *home) {
  struct machine machine;
  enter_root(home, &machine);
  close(tmp_fd);
  tmp_fd = machine.tmp;
  run_fd = machine.run;
  home_fd = machine.home;
}

static void arrange_files(int argc, char **argv) {
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) fail("private mounts");
  tmp_fd = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (change_mount("/", MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID, 0, 1) < 0) fail("a read-only file system");
  if (strict) change_root(home_of(argc, argv));
  for (int i = 2; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--write") != 0) continue;
    char *path = argv[i + 1];
    /* What the machine itself mounted read-only below it stays so. */
    if (mount(path, path, NULL, MS_BIND | MS_REC, NULL) == 0 && change_mount(path, 0, MOUNT_ATTR_RDONLY, 1) < 0) change_mount(path, 0, MOUNT_ATTR_RDONLY, 0);
  }
  for (int i = 2; i + 1 < argc; i += 2) if (strcmp(argv[i], "--hide") == 0) hide(argv[i + 1]);
  if (!strict) cover_folders();
  keep_resolver();
  for (int i = 2; i + 1 < argc; i += 2) if (strcmp(argv[i], "--write") == 0) expose(argv[i + 1], 1);
}

/* ---- system calls that no command may make ---- */

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "the sandbox does not know the system calls of this processor"
#endif

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define REFUSE(number) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (number))
#define UNLESS(value) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, 1)
#define DENY(call, number) UNLESS(call), REFUSE(number)

static void filter_calls(void) {
  const struct sock_filter first[] = {
    LOAD(arch), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    LOAD(nr),
#if defined(__x86_64__)
    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1), REFUSE(ENOSYS) /* the x32 interface */
#endif
  };
  const struct sock_filter rest[] = {
    /* These have had most of the kernel's faults, and a command has no use for them. */
    DENY(425, ENOSYS), DENY(426, ENOSYS), DENY(427, ENOSYS), /* io_uring, which does what this filter does not see */
    DENY(435, ENOSYS), /* clone3: its flags are not seen; libraries go back to clone */
    DENY(SYS_bpf, EPERM), DENY(SYS_perf_event_open, EPERM), DENY(SYS_userfaultfd, EPERM), DENY(SYS_keyctl, EPERM), DENY(SYS_add_key, EPERM),
    DENY(SYS_request_key, EPERM), DENY(SYS_ptrace, EPERM), DENY(SYS_process_vm_readv, EPERM), DENY(SYS_process_vm_writev, EPERM),
    DENY(438, EPERM) /* pidfd_getfd */, DENY(SYS_kcmp, EPERM), DENY(SYS_open_by_handle_at, EPERM), DENY(SYS_name_to_handle_at, EPERM),
    DENY(SYS_syslog, EPERM), DENY(SYS_quotactl, EPERM), DENY(SYS_acct, EPERM), DENY(SYS_kexec_load, EPERM), DENY(SYS_personality, EPERM),
    /* A user namespace of its own would give it all capabilities there. */
    UNLESS(SYS_unshare), BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0), BPF_JUMP(BPF_JMP | BPF_JA, 4, 0, 0),
    LOAD(args[0]), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_NEWUSER, 0, 1), REFUSE(EPERM), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    UNLESS(SYS_clone), BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0), BPF_JUMP(BPF_JMP | BPF_JA, 4, 0, 0),
    LOAD(args[0]), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_NEWUSER, 0, 1), REFUSE(EPERM), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    /* A socket of the machine, such as Docker's or D-Bus's, would open all doors. Pairs of sockets reach nobody. */
    UNLESS(SYS_socket), BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0), BPF_JUMP(BPF_JMP | BPF_JA, 6, 0, 0),
    LOAD(args[0]), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 2, 3, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 10, 2, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 16, 1, 0),
    REFUSE(EACCES), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    /* Typing into a terminal. */
    UNLESS(SYS_ioctl), BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0), BPF_JUMP(BPF_JMP | BPF_JA, 4, 0, 0),
    LOAD(args[1]), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x5412, 0, 1), REFUSE(EPERM), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
  };
  /* What commands of all skills would share, in place of a namespace for each command. */
  const struct sock_filter private[] = {
    DENY(SYS_shmget, ENOSYS), DENY(SYS_semget, ENOSYS), DENY(SYS_msgget, ENOSYS), DENY(SYS_mq_open, ENOSYS)
  };
  enum { PRIVATE = sizeof private / sizeof *private };
  enum { FIRST = sizeof first / sizeof *first, REST = sizeof rest / sizeof *rest };
  struct sock_filter program[FIRST + MARK_FILTER_LENGTH + PRIVATE + REST];
  const int more = strict ? PRIVATE : 0;
  memcpy(program, first, sizeof first);
  filter_marks(program + FIRST);
  memcpy(program + FIRST + MARK_FILTER_LENGTH, private, sizeof private);
  memcpy(program + FIRST + MARK_FILTER_LENGTH + more, rest, sizeof rest);
  const struct sock_fprog filter = { .len = (unsigned short)(FIRST + MARK_FILTER_LENGTH + more + REST), .filter = program };
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0) fail("a filter of system calls");
}

/* ---- entering ---- */

static void write_file(const char *path, const char *text) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0 || write(fd, text, strlen(text)) < 0) fail(path);
  close(fd);
}

static void keep_identity(uid_t user, gid_t group) {
  char text[64];
  write_file("/proc/self/setgroups", "deny");
  snprintf(text, sizeof text, "%u %u 1\n", user, user);
  write_file("/proc/self/uid_map", text);
  snprintf(text, sizeof text, "%u %u 1\n", group, group);
  write_file("/proc/self/gid_map", text);
}

/* What a command can never get back: capabilities by the files that it executes, and by being root. */
static void give_up_capabilities(void) {
  for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++) {
    if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0) fail("the bounding set");
  }
  const unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED;
  if (prctl(PR_SET_SECUREBITS, bits, 0, 0, 0) < 0) fail("the secure bits");
  if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0) fail("ambient capabilities");
}

/* Ends as the process inside ends; should it be killed, the system kills that one. `life` stays open until then. */
static _Noreturn void await(pid_t inside, int life) {
  int status;
  for (int fd = 0; fd < 5; fd++) if (fd != 2 && fd != life) close(fd); /* the pipes to the server are the other's */
  while (waitpid(inside, &status, 0) < 0 && errno == EINTR) { }
  _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

/*
 * The system ends this process when its parent dies. A parent that has died already, before it asked for that, has
 * closed its end of the pipe; getppid() does not tell, since the parent is outside of the pid namespace.
 */
static void die_with_parent(const int life[2]) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0) fail("prctl");
  close(life[1]);
  struct pollfd parent = { .fd = life[0], .events = POLLIN };
  if (poll(&parent, 1, 0) != 0) _exit(0);
  close(life[0]);
}

void enter_sandbox(int argc, char **argv) {
  const uid_t user = geteuid();
  const gid_t group = getegid();
  int namespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS;
  for (int i = 2; i + 1 < argc; i += 2) if (strcmp(argv[i], "--level") == 0) strict = strcmp(argv[i + 1], "strict") == 0;
  for (int i = 2; i + 1 < argc; i += 2) if (strcmp(argv[i], "--network") == 0 && strcmp(argv[i + 1], "off") == 0) namespaces |= CLONE_NEWNET;
  landlock_version = (int)syscall(CREATE_RULESET, NULL, 0, VERSION_FLAG);
  if (landlock_version < 1) fail("Landlock");
  setgroups(0, NULL); /* which only root may */
  if (unshare(namespaces) < 0) fail("namespaces");
  open_way_out(argc, argv);
  keep_identity(user, group);
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before); /* a signal to the terminal is the server's to answer */
  int life[2];
  if (pipe2(life, O_CLOEXEC) < 0) fail("a pipe");
  pid_t inside = fork();
  if (inside < 0) fail("fork");
  if (inside > 0) await(inside, life[1]);
  sigprocmask(SIG_SETMASK, &before, NULL);
  die_with_parent(life);
  arrange_files(argc, argv);
  if (chdir("/") < 0) fail("/");
  /* Programs that take core dumps run outside, as root, on what a command left them. This limit keeps dumps from them too. */
  const struct rlimit no_dumps = { .rlim_cur = 1, .rlim_max = 1 };
  if (setrlimit(RLIMIT_CORE, &no_dumps) < 0) fail("the limit of core dumps");
  give_up_capabilities();
  draw_permit();
  filter_calls();
  for (int i = 1; i < argc; i++) memset(argv[i], 0, strlen(argv[i])); /* which commands could read */
  prctl(PR_SET_DUMPABLE, 0); /* its memory holds the variables of commands, secrets among them */
}

/* ---- rules of skills ---- */

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *at) {
  (void)status;
  (void)at;
  if (kind == FTW_DNR) chmod(path, 0700);
  remove(path);
  return 0;
}

static void remove_folder(const char *path) {
  if (rmdir(path) == 0 || errno == ENOENT) return;
  nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

struct rules *rules_of(uint32_t id) {
  struct rules *rules = all_rules;
  while (rules != NULL && rules->id != id) rules = rules->next;
  return rules;
}

void keep_rules(uint32_t id, struct limits limits, char **paths, uint32_t count) {
  forget_rules(id);
  struct rules *rules = malloc(sizeof *rules);
  if (rules == NULL) fail("no memory");
  *rules = (struct rules){ .id = id, .fd = new_ruleset(), .limits = limits, .next = all_rules };
  if (rules->fd < 0) fail("a Landlock ruleset");
  snprintf(rules->folder, sizeof rules->folder, "/tmp/skill-%u", id);
  mkdir(rules->folder, 0700);
  const uint64_t reading = EXECUTE | READ_FILE | READ_DIRECTORY, devices = MAKE_CHAR_DEVICE | MAKE_BLOCK_DEVICE;
  for (uint32_t i = 0; i < count; i++) {
    const char *path = paths[i] + 1;
    const int writable = paths[i][0] == 'w';
    expose(path, writable);
    allow(rules->fd, path, writable ? known_rights() & ~(devices | USE_DEVICE) : reading);
  }
  static const char *const usable[] = { "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty" };
  for (size_t i = 0; i < sizeof usable / sizeof *usable; i++) allow(rules->fd, usable[i], READ_FILE | WRITE_FILE | TRUNCATE | USE_DEVICE);
  /* At the level `strict`, memory is shared by a file system in a /dev that holds nothing else but the devices above. */
  allow(rules->fd, strict ? "/dev" : "/dev/shm", known_rights() & ~(devices | USE_DEVICE | EXECUTE));
  allow(rules->fd, strict ? OWN : "/proc", reading);
  allow(rules->fd, rules->folder, known_rights() & ~(devices | USE_DEVICE));
  all_rules = rules;
}

void forget_rules(uint32_t id) {
  for (struct rules **at = &all_rules; *at != NULL; at = &(*at)->next) {
    if ((*at)->id != id) continue;
    struct rules *gone = *at;
    *at = gone->next;
    if (gone->starter != NULL) end_starter(gone->starter);
    close(gone->fd);
    remove_folder(gone->folder);
    free(gone);
    return;
  }
}

/* ---- commands ---- */

/* Takes from this thread, for good, what rules do not allow, and all capabilities. Returns an error number. */
static int enter_rules(int ruleset) {
  if (syscall(RESTRICT_SELF, ruleset, 0) < 0) return errno;
  struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
  struct __user_cap_data_struct none[2] = { { 0 }, { 0 } };
  return syscall(SYS_capset, &header, none) < 0 ? errno : 0;
}

int enter_for_good(const struct rules *rules) {
  return rules == NULL ? EPERM : enter_rules(rules->fd);
}

int confine(const struct rules *rules, uint32_t mark) {
  const int error = strict ? enter_rules(rules->fd) : 0;
  return error != 0 ? error : take_mark(mark);
}

int start_confined(struct start *start) {
  struct rules *rules = start->rules;
  if (rules == NULL) return EPERM;
  if (strict) {
    const struct inside inside = {
      .streams = start->streams, .folder = start->folder, .home = home_fd < 0 ? NULL : home_path, .processes_max = rules->limits.processes_max, .start = start->start, .request = start->request
    };
    return start_inside(&inside, &rules->fd, &start->pid, &start->report);
  }
  if (rules->starter == NULL && (rules->starter = new_starter(enter_rules, rules->fd)) == NULL) return errno;
  return start_in(rules->starter, start->start, start->request, &start->pid);
}

int arrange_own(const struct rules *rules, const char *folder) {
  const struct inside inside = { .folder = folder, .home = home_fd < 0 ? NULL : home_path, .processes_max = rules->limits.processes_max };
  return strict ? arrange_inside(&inside) : 0;
}

int is_strict(void) {
  return strict;
}

static void folder_of(const struct rules *rules, uint32_t run, char *path, size_t bytes) {
  snprintf(path, bytes, "%s/%u", rules->folder, run);
}

int make_folder(const struct rules *rules, uint32_t run, char *path, uint32_t bytes) {
  if (rules == NULL) return EPERM;
  folder_of(rules, run, path, bytes);
  return mkdir(path, 0700) < 0 ? errno : 0;
}

void leave_folder(const struct rules *rules, uint32_t run) {
  char path[80];
  if (rules == NULL) return;
  folder_of(rules, run, path, sizeof path);
  remove_folder(path);
}

void empty_shared_memory(void) {
  static const off_t empty_bytes = 40; /* of a folder in such a file system: it grows with each entry */
  struct stat status;
  if (stat("/dev/shm", &status) < 0 || status.st_size <= empty_bytes) return;
  DIR *folder = opendir("/dev/shm");
  if (folder == NULL) return;
  char path[300];
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    snprintf(path, sizeof path, "/dev/shm/%s", entry->d_name);
    if (unlink(path) < 0) remove_folder(path);
  }
  closedir(folder);
}
