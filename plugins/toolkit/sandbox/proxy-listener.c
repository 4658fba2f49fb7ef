/*
 * The way out of an empty network namespace: a socket that listens on 127.0.0.1 inside, and is accepted on by the proxy
 * of the server, outside. A socket stays in the namespace in which it was made, whoever holds it.
 *
 * The socket is passed over standard input, or the descriptor of `--proxy-channel`, in the words in which Node's child_process passes sockets between
 * processes: a line of JSON, the descriptor beside it, and a line as the answer. The helper goes on when the server
 * serves the socket, so no command starts without the proxy.
 */
#define _GNU_SOURCE
#include "proxy-listener.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNECTIONS_WAITING = 511 }; /* that the server has not accepted yet */

static int channel = STDIN_FILENO;

static _Noreturn void fail(const char *what) {
  fprintf(stderr, "the way to the proxy: %s: %s\n", what, strerror(errno));
  _exit(1);
}

static int listen_inside(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) fail("a socket");
  struct ifreq interface = { .ifr_flags = IFF_UP | IFF_RUNNING };
  strcpy(interface.ifr_name, "lo");
  if (ioctl(fd, SIOCSIFFLAGS, &interface) < 0) fail("the loopback interface");
  struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  if (bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, CONNECTIONS_WAITING) < 0) fail("listening");
  return fd;
}

static void send_socket(int fd) {
  static const char text[] = "{\"cmd\":\"NODE_HANDLE\",\"type\":\"net.Native\",\"msg\":\"listening\"}\n";
  struct iovec part = { .iov_base = (void *)text, .iov_len = sizeof text - 1 };
  union { char bytes[CMSG_SPACE(sizeof fd)]; struct cmsghdr aligned; } control;
  memset(&control, 0, sizeof control);
  struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes };
  struct cmsghdr *passed = CMSG_FIRSTHDR(&message);
  passed->cmsg_level = SOL_SOCKET;
  passed->cmsg_type = SCM_RIGHTS;
  passed->cmsg_len = CMSG_LEN(sizeof fd);
  memcpy(CMSG_DATA(passed), &fd, sizeof fd);
  ssize_t sent;
  while ((sent = sendmsg(channel, &message, MSG_NOSIGNAL)) < 0 && errno == EINTR) { }
  if (sent != (ssize_t)part.iov_len) fail("passing the socket to the server");
}

/* The server says that it got the socket (it may lack a descriptor for it), and then that it serves it. */
static void await_confirmation(void) {
  char text[128] = "";
  size_t length = 0;
  do {
    ssize_t n = read(channel, text + length, sizeof text - 1 - length);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("the answer of the server");
    if (n == 0) errno = EPIPE;
    if (n == 0) fail("the server does not serve it");
    text[length += (size_t)n] = 0;
    if (strstr(text, "_NACK") != NULL) fail("the server did not get the socket");
  } while (strstr(text, "\"serving\"\n") == NULL);
}

/* No command may speak to the server by this socket. */
static void leave_channel(void) {
  const int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null_fd < 0 || dup3(null_fd, channel, channel == STDIN_FILENO ? 0 : O_CLOEXEC) < 0) fail("/dev/null");
  close(null_fd);
}

void open_way_out(int argc, char **argv) {
  for (int i = 2; i + 1 < argc; i += 2) if (strcmp(argv[i], "--proxy-channel") == 0) channel = atoi(argv[i + 1]);
  for (int i = 2; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--proxy") != 0) continue;
    const int fd = listen_inside(atoi(argv[i + 1]));
    send_socket(fd);
    await_confirmation();
    close(fd);
    leave_channel();
    return;
  }
}
