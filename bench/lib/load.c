/*
 * A load generator: sends one HTTP request over and over on so many keep-alive connections, each of which waits for its
 * reply before the next. One thread, so that a server on the other core is what limits the throughput.
 *
 * Usage: load PORT CONNECTIONS SECONDS < REQUEST
 * Where REQUEST has eight # in a row, each request has another number of eight digits there.
 * Prints {"requests", "failed", "seconds", "median_us", "p99_us"} as JSON. Only replies of status 200 did not fail.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { HEAD_MAX = 16384, REQUEST_MAX = 1 << 20, SAMPLES_MAX = 1 << 25, SILENCE_MS = 30000 };

struct connection {
  int fd;
  int active;
  uint64_t sent_ns;
  size_t head_bytes;      /* of the head, so far */
  uint64_t body_left;     /* once the head is there */
  int in_body;
  char head[HEAD_MAX + 1];
};

static char request[REQUEST_MAX];
static size_t request_bytes;
static char *place; /* of the number; NULL where there is none */
static unsigned sent;
static uint32_t *samples_us;
static size_t samples, capacity, failed, active;
static uint64_t end_ns;

static void die(const char *what) {
  fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
  exit(1);
}

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void note(uint64_t took_ns) {
  if (samples == capacity) {
    if (capacity == SAMPLES_MAX) return;
    capacity = capacity == 0 ? 1 << 16 : capacity * 2;
    samples_us = realloc(samples_us, capacity * sizeof *samples_us);
    if (samples_us == NULL) die("memory");
  }
  uint64_t us = took_ns / 1000;
  samples_us[samples++] = us > UINT32_MAX ? UINT32_MAX : (uint32_t)us;
}

/* Sends the next request, or closes the connection when the time is up. */
static void send_next(struct connection *c) {
  uint64_t now = now_ns();
  if (now >= end_ns) {
    close(c->fd);
    c->active = 0;
    active--;
    return;
  }
  c->sent_ns = now;
  c->head_bytes = 0;
  c->in_body = 0;
  if (place != NULL) {
    unsigned left = sent++;
    for (int i = 7; i >= 0; i--, left /= 10) place[i] = (char)('0' + left % 10);
  }
  for (size_t at = 0; at < request_bytes;) {
    ssize_t n = send(c->fd, request + at, request_bytes - at, MSG_NOSIGNAL);
    if (n < 0 && errno != EINTR) die("send");
    if (n > 0) at += (size_t)n;
  }
}

static uint64_t content_length(const char *head) {
  const char *found = strcasestr(head, "\r\ncontent-length:");
  if (found == NULL) {
    fprintf(stderr, "load: a reply without Content-Length\n");
    exit(1);
  }
  return strtoull(found + 17, NULL, 10);
}

static void take(struct connection *c, const char *bytes, size_t count) {
  if (!c->in_body) {
    if (c->head_bytes + count > HEAD_MAX && c->head_bytes == HEAD_MAX) {
      fprintf(stderr, "load: a head of more than %d bytes\n", HEAD_MAX);
      exit(1);
    }
    size_t room = HEAD_MAX - c->head_bytes;
    size_t copied = count < room ? count : room;
    memcpy(c->head + c->head_bytes, bytes, copied);
    size_t before = c->head_bytes;
    c->head_bytes += copied;
    c->head[c->head_bytes] = 0;
    char *blank = strstr(c->head, "\r\n\r\n");
    if (blank == NULL) return;
    blank[2] = 0;
    size_t head = (size_t)(blank - c->head) + 4;
    if (strncmp(c->head, "HTTP/1.1 200", 12) != 0) {
      if (failed++ == 0) fprintf(stderr, "load: the first reply that failed: %.*s\n", (int)strcspn(c->head, "\r"), c->head);
    }
    c->body_left = content_length(c->head);
    c->in_body = 1;
    count -= head - before; /* what is left of this chunk is body */
  }
  c->body_left = count >= c->body_left ? 0 : c->body_left - count;
  if (c->body_left > 0) return;
  note(now_ns() - c->sent_ns);
  send_next(c);
}

static int by_size(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return x < y ? -1 : x > y;
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: load PORT CONNECTIONS SECONDS < REQUEST\n");
    return 2;
  }
  size_t connections = strtoul(argv[2], NULL, 10);
  for (ssize_t n; (n = read(0, request + request_bytes, REQUEST_MAX - request_bytes)) != 0;) {
    if (n < 0) die("standard input");
    request_bytes += (size_t)n;
  }
  place = memmem(request, request_bytes, "########", 8);
  struct connection *all = calloc(connections, sizeof *all);
  int poll = epoll_create1(0);
  if (all == NULL || poll < 0) die("start");
  struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[1])), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  for (size_t i = 0; i < connections; i++) {
    int one = 1;
    all[i].fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (all[i].fd < 0 || connect(all[i].fd, (struct sockaddr *)&address, sizeof address) < 0) die("connect");
    setsockopt(all[i].fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = &all[i] };
    if (epoll_ctl(poll, EPOLL_CTL_ADD, all[i].fd, &event) < 0) die("epoll");
  }
  uint64_t began_ns = now_ns();
  end_ns = began_ns + (uint64_t)(strtod(argv[3], NULL) * 1e9);
  active = connections;
  for (size_t i = 0; i < connections; i++) {
    all[i].active = 1;
    send_next(&all[i]);
  }
  static char buffer[1 << 18];
  while (active > 0) {
    struct epoll_event events[256];
    int count = epoll_wait(poll, events, 256, SILENCE_MS);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) die("epoll");
    if (count == 0) {
      fprintf(stderr, "load: %zu requests were not answered for %d s\n", active, SILENCE_MS / 1000);
      return 1;
    }
    for (int i = 0; i < count; i++) {
      struct connection *c = events[i].data.ptr;
      if (!c->active) continue;
      ssize_t n = recv(c->fd, buffer, sizeof buffer, MSG_DONTWAIT);
      if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (n <= 0) {
        if (n == 0) errno = ECONNRESET;
        die("receive");
      }
      take(c, buffer, (size_t)n);
    }
  }
  double seconds = (double)(now_ns() - began_ns) / 1e9;
  qsort(samples_us, samples, sizeof *samples_us, by_size);
  printf("{\"requests\":%zu,\"failed\":%zu,\"seconds\":%.6f,\"median_us\":%u,\"p99_us\":%u}\n", samples, failed, seconds,
    samples == 0 ? 0 : samples_us[samples / 2], samples == 0 ? 0 : samples_us[samples - 1 - samples / 100]);
  return 0;
}
