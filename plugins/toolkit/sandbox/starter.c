/*
 * Confining a process by 200 Landlock rules costs 50 µs, since the system copies them. So a thread of the helper is
 * confined once for each set of rules, and starts its commands, which inherit what it may not do. The thread that asks
 * waits meanwhile, so nothing is changed by two at a time.
 */
#define _GNU_SOURCE
#include "starter.h"
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

enum { STACK_BYTES = 1 << 17 };

struct starter {
  pthread_t thread;
  sem_t asked, answered;
  int (*enter)(int ruleset);
  int ruleset;
  int (*start)(void *request, pid_t *pid); /* NULL asks the thread to end */
  void *request;
  pid_t *pid;
  int result;
};

static void wait_for(sem_t *event) {
  while (sem_wait(event) < 0 && errno == EINTR) { }
}

static void *serve(void *argument) {
  struct starter *starter = argument;
  starter->result = starter->enter(starter->ruleset);
  sem_post(&starter->answered);
  for (;;) {
    wait_for(&starter->asked);
    if (starter->start == NULL) return NULL;
    starter->result = starter->start(starter->request, starter->pid);
    sem_post(&starter->answered);
  }
}

struct starter *new_starter(int (*enter)(int ruleset), int ruleset) {
  struct starter *starter = calloc(1, sizeof *starter);
  if (starter == NULL) return NULL;
  starter->enter = enter;
  starter->ruleset = ruleset;
  sem_init(&starter->asked, 0, 0);
  sem_init(&starter->answered, 0, 0);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, STACK_BYTES);
  int error = pthread_create(&starter->thread, &attributes, serve, starter);
  pthread_attr_destroy(&attributes);
  if (error == 0) {
    wait_for(&starter->answered);
    if (starter->result == 0) return starter;
    error = starter->result;
    end_starter(starter);
  } else free(starter);
  errno = error;
  return NULL;
}

int start_in(struct starter *starter, int (*start)(void *request, pid_t *pid), void *request, pid_t *pid) {
  starter->start = start;
  starter->request = request;
  starter->pid = pid;
  sem_post(&starter->asked);
  wait_for(&starter->answered);
  return starter->result;
}

void end_starter(struct starter *starter) {
  starter->start = NULL;
  sem_post(&starter->asked);
  pthread_join(starter->thread, NULL);
  free(starter);
}
