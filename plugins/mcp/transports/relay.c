/*
 * The relay: a small process that holds what the client of `skillet mcp` gave as standard input and output, and passes what is said on
 * to the server over a socket. /proc/PID/fd of a process can be opened by every other one of its user, so that a command could write to
 * the client's pipe; a process that calls itself not dumpable is the system's own there, and can't be traced. Linux only.
 *
 * Two threads of blocking calls: the client's pipe is shared with it, and must not be made non-blocking. It ends when the server closes
 * its end, or when the client reads no more.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CLIENT_IN = 0, CLIENT_OUT = 1, SERVER = 3, PIECE_BYTES = 65536 };

/* Passes on all that comes, to its end or until nobody takes it. */
static void pass(int from, int to) {
  char *piece = malloc(PIECE_BYTES);
  if (piece == NULL) return;
  for (;;) {
    ssize_t got = read(from, piece, PIECE_BYTES);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    for (ssize_t sent = 0; sent < got;) {
      ssize_t taken = write(to, piece + sent, (size_t)(got - sent));
      if (taken < 0 && errno == EINTR) continue;
      if (taken <= 0) { free(piece); return; }
      sent += taken;
    }
  }
  free(piece);
}

static void *pass_input(void *unused) {
  (void)unused;
  pass(CLIENT_IN, SERVER);
  shutdown(SERVER, SHUT_WR); /* the server answers what was asked, and closes */
  return NULL;
}

int main(int argc, char **argv) {
  if (prctl(PR_SET_DUMPABLE, 0) < 0) { perror("relay: prctl"); return 1; }
  if (argc == 2 && strcmp(argv[1], "--check") == 0) return 0;
  /* What ends the server is for the server to answer: it closes the socket then. It takes SIGUSR1 for nothing, too. */
  for (const int *signals = (const int[]){SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGUSR1, 0}; *signals != 0; signals++) signal(*signals, SIG_IGN);
  pthread_t input;
  if (pthread_create(&input, NULL, pass_input, NULL) != 0) { perror("relay: thread"); return 1; }
  pass(SERVER, CLIENT_OUT);
  return 0;
}
