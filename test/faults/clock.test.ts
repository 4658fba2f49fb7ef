import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import type { Execution } from '../../kernel/index.ts'
import { limit_ms, Random, replay, seeds } from '../support/faults.ts'
import { makeMarkingHome } from '../support/marking.ts'
import { execute, request, startServer } from '../support/program.ts'

/** Adds the seconds in a file to the clock of a process. Loaded before libc (LD_PRELOAD). */
const shim = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
static volatile long long *offset;
static long long seconds (void) {
  if (offset == NULL) {
    int file = open(getenv("SKILLET_TEST_CLOCK"), O_RDONLY);
    offset = file < 0 ? NULL : mmap(NULL, 8, PROT_READ, MAP_SHARED, file, 0);
    if (offset == NULL || offset == MAP_FAILED) abort();
  }
  return *offset;
}
int clock_gettime (clockid_t clock, struct timespec *at) {
  static int (*real) (clockid_t, struct timespec *);
  if (real == NULL) real = dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(clock, at);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) at->tv_sec += seconds();
  return result;
}
int gettimeofday (struct timeval *at, void *zone) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  at->tv_sec = now.tv_sec;
  at->tv_usec = now.tv_nsec / 1000;
  return 0;
}
time_t time (time_t *at) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (at != NULL) *at = now.tv_sec;
  return now.tv_sec;
}`

const folder = await mkdtemp(join(tmpdir(), 'skillet-clock-'))
const library = join(folder, 'clock.so')
const offsetFile = join(folder, 'offset')
await writeFile(join(folder, 'clock.c'), shim)
const compiled = process.platform === 'linux'
  && spawnSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, join(folder, 'clock.c'), '-ldl']).status === 0
t.teardown(() => rm(folder, { recursive: true, force: true }))
t.setTimeout(limit_ms)

const day_s = 86_400

/** Sets the clock of the server off by so many seconds. Written in place: the server maps the file. */
async function step (seconds: number): Promise<void> {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64LE(BigInt(seconds))
  await writeFile(offsetFile, bytes, { flag: 'r+' })
}

t.test('when the clock is set by days, forwards and backwards, all is run, recorded and found in its order', {
  skip: !compiled && 'needs Linux and a C compiler'
}, async t => {
  t.setTimeout(0)
  await writeFile(offsetFile, Buffer.alloc(8))
  const { home, marks } = await makeMarkingHome()
  t.teardown(home.remove)
  const env = { LD_PRELOAD: library, SKILLET_TEST_CLOCK: offsetFile }
  const start = (): ReturnType<typeof startServer> =>
    startServer(home, ['--no-bundled-skills', '--log-level', 'error'], { env })
  const ids: string[] = []
  for (const seed of seeds(1, 20)) {
    const random = new Random(seed)
    const again = replay('clock', seed)
    const server = await start()
    t.teardown(server.kill)
    for (let i = 0; i < 5; i++) {
      const days = random.of([-1, 0, 1])
      const running = execute(server.url, 'marking', 'long', { call: `${seed}-${i}-long`, file: marks })
      await wait(100 + random.below(300))
      await step(days * day_s)
      const short = await execute(server.url, 'marking', 'fast', { call: `${seed}-${i}`, file: marks })
      t.equal(short.status, 200, again)
      const long = await running
      t.match(long, { status: 200 }, again)
      for (const { body } of [long, short]) ids.push(String(body['execution_id']))
      const { body } = await request(server.url, `/api/executions/${String(long.body['execution_id'])}`)
      const { status, duration_ms, created_at } = body as unknown as Execution
      t.equal(status, 'success', again)
      t.ok(duration_ms >= 900 && duration_ms < day_s * 500, `${duration_ms} ms, whatever the clock says; ${again}`)
      t.ok(Math.abs(Date.parse(created_at) - Date.now()) < 2 * day_s * 1_000, again)
      const shown = (
        await request(server.url, `/api/executions/${String(short.body['execution_id'])}`)
      ).body as unknown as Execution
      t.ok(
        Math.abs(Date.parse(shown.created_at) - Date.now() - days * day_s * 1_000) < day_s * 500,
        `the clock was set: ${shown.created_at}; ${again}`
      )
    }
    t.equal(await server.stop(), 0, again)
  }
  const server = await start()
  const { body } = await request(server.url, '/api/executions?limit=500')
  const { total, executions } = body as unknown as { total: number, executions: { id: string }[] }
  t.equal(total, ids.length)
  t.same(executions.map(({ id }) => id).toSorted(), ids.toSorted())
  t.equal(await server.stop(), 0)
})
