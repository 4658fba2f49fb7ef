import { Canceller, completeConfig, pendingApproval, type Execution } from '../../kernel/index.ts'
import type { Happening, SimulatedRun } from './executor.ts'
import type { History, Step } from './history.ts'
import { SimulatedProcess, type Cancellation, type Request, type Submission, type World } from './process.ts'
import { checkRecord, checkWrite, demand, isFinalStatus } from './rules.ts'
import { SimulatedDisk, type Fate } from './storage.ts'
import { SimulatedTime } from './time.ts'
import { checkEnd, checkQuiet, checkReplies, isEqual, type Evidence } from './verdict.ts'

const usual = completeConfig({})
const succeed: Fate = { how: 'succeed' }
/** How long a drain may take beside `drain_ms`, in milliseconds: the time for stragglers, and some timers. */
const drainSlack_ms = 5_000
/** How often a process looks for requests to cancel, in milliseconds. */
const cancelPoll_ms = 100
/** How long an execution is at most not stored while it runs, in milliseconds, and some more. */
const unsaved_ms = 45
/** How often a process looks for executions whose process died, in milliseconds. */
const recovery_ms = 5_000
/** How long a drain waits for the runs that it has interrupted, in milliseconds. */
const stragglers_ms = 3_000
/** How long a process waits at most until another one obeys a request to cancel, in milliseconds, and some more. */
const cancelPatience_ms = 11_000
/** The numbers of requests for asynchronous runs, and of those with a key: above all others. */
const keysFrom = 1_000_000
const submissionsFrom = 2_000_000
const lasting = { priority: 0, queue_ms: 86_400_000 }
/** Far more operations than a storage needs to end what a history has left. */
const operationsMax = 10_000

/** Runs a history, and checks the rules while it runs and at its end. */
export class Simulation {
  /** What happened, for people; only with `trace`. */
  readonly trace: string[] = []
  /** What the history contained: ends of executions, as they were stored, and other events. */
  readonly seen = new Set<string>()
  readonly #history: History
  readonly #traces: boolean
  readonly #time = new SimulatedTime()
  readonly #world: World
  readonly #evidence: Evidence
  readonly #processes: (SimulatedProcess | undefined)[] = []
  readonly #cancellations: Cancellation[] = []
  /** Processes whose drain has just ended, and in which no run was given up. */
  readonly #drained: SimulatedProcess[] = []
  /** Executions that were cancelled before their tools started. */
  readonly #cancelled = new Set<string>()
  /** A rule that was broken where an exception would be caught by the code under test. */
  #broken: unknown

  constructor (history: History, trace = false) {
    this.#history = history
    this.#traces = trace
    const { durability, queue_max, drain_ms, pending_max } = history
    this.#world = {
      disk: new SimulatedDisk((before, after) => {
        this.#note(() => `the disk has ${after.execution.id} as ${after.execution.status}`)
        this.seen.add(after.execution.status)
        this.#check(() => { checkWrite(before, after) })
      }),
      config: {
        ...usual,
        storage: { ...usual.storage, durability },
        execution: { ...usual.execution, queue_max, drain_ms, asynchronous_max: 2 },
        approvals: { ...usual.approvals, rules: [{ action: 'ask', parameters: { asks: true } }], expires_ms: 60_000 }
      },
      pending_max,
      alive: new Set(),
      began: (run, process) => { this.#began(run, process) },
      started: run => { this.#check(() => { this.#started(run) }) }
    }
    const { disk } = this.#world
    this.#evidence = {
      disk, durability, processes: [], requests: [], submissions: [], runs: new Map(), acknowledged: []
    }
  }

  /** @throws BrokenRule */
  async run (): Promise<void> {
    const uninstall = this.#time.install()
    try {
      for (let place = 0; place < 2; place++) await this.#start(place)
      await this.#complete()
      for (const { step, sameTurn } of this.#history.steps) {
        this.#note(() => `${this.#time.now_ms} ms: ${JSON.stringify(step)}`)
        await this.#take(step)
        if (!sameTurn) await this.#settle()
      }
      await this.#settle()
      await this.#end()
      checkEnd(this.#evidence)
    } finally {
      uninstall()
    }
  }

  async #take (step: Step): Promise<void> {
    if (step.do === 'advance') return await this.#advance(step.ms)
    if (step.do === 'leave') return pick(this.#evidence.requests, step.which)?.signal.abort()
    if (step.do === 'start') return await this.#start(step.place)
    const process = pick(this.#alive(), step.process)
    if (process === undefined) return
    switch (step.do) {
      case 'execute': return this.#execute(process, step.known, step.gone)
      case 'submit': return this.#submit(process, undefined, step, step.asks)
      case 'decide': return this.#decide(process, step.which, step.approve)
      case 'once': return this.#submit(process, step.key, step.asynchronous ? lasting : undefined)
      case 'cancel': return this.#cancel(process, step.which)
      case 'storage': return operate(process, step.which, step.fate)
      case 'run': return happen(process, step.which, step.happening)
      case 'crash':
        this.seen.add('crash')
        return process.crash(step.kept)
      case 'drain': return this.#drain(process)
    }
  }

  /** Lets time pass. An execution of a living process hears in that time that another process wants to cancel it. */
  async #advance (ms: number): Promise<void> {
    const requested = [...this.#world.disk.cancels].flatMap(id => this.#evidence.runs.get(id) ?? [])
    await this.#time.advance(ms)
    if (ms < cancelPoll_ms) return
    for (const { run, process } of requested) {
      const hears = process.isReady && !run.isAnswered
      demand(!hears || run.isCancelled, 'a request to cancel is heard', run.task.execution_id)
    }
  }

  async #start (place: number): Promise<void> {
    const before = this.#processes[place]
    if (before?.isAlive === true) {
      if (!before.isDrained) return
      await this.#exit(before)
    }
    const listens = this.#history.listens[place] ?? false
    const process = new SimulatedProcess(this.#world, `process ${this.#evidence.processes.length}`, listens)
    this.#processes[place] = process
    this.#evidence.processes.push(process)
  }

  #execute (process: SimulatedProcess, isKnown: boolean, isGone: boolean): void {
    if (!process.isReady) return
    const number = this.#evidence.requests.length
    const signal = new Canceller()
    const none = { accepted: undefined, run: undefined, result: undefined, error: undefined }
    const request: Request = { number, process, signal, ...none }
    if (isGone) signal.abort()
    this.#evidence.requests.push(request)
    const { min, max } = process.waiting()
    const { queue_max } = this.#world.config.execution
    const { isDraining, storage: { isFull } } = process
    process.execute(request, isKnown, execution => { this.#acknowledge(process, execution) })
    const facts = { number, min, max, queue_max, isDraining, isFull }
    if (request.error === undefined) {
      demand(min < queue_max && !isDraining && !isFull, 'beyond a limit, a request is refused', facts)
    } else {
      this.seen.add('refused')
      demand(max >= queue_max || isDraining || isFull, 'a request is refused only beyond a limit', facts)
    }
    this.#note(() => `request ${number} is ${request.run?.task.execution_id ?? 'refused'}`)
  }

  #submit (
    process: SimulatedProcess, key: number | undefined, queue: typeof lasting | undefined, asks = false
  ): void {
    if (!process.isReady) return
    const { submissions } = this.#evidence
    const asynchronous = queue !== undefined
    const submission: Submission = {
      process, asynchronous, key, status: undefined, result: undefined, error: undefined
    }
    const request = key === undefined ? submissionsFrom + submissions.length : keysFrom + key
    submissions.push(submission)
    process.submit(submission, { request, ...(asks && { asks }) }, queue, execution => {
      submission.status = execution.status
      if (!asynchronous) return this.#acknowledge(process, execution)
      const stored = this.#world.disk.records.get(execution.id)
      this.#check(() => { demand(stored !== undefined, 'an asynchronous run is stored before its reply', execution) })
    })
  }

  #cancel (process: SimulatedProcess, which: number): void {
    const submitted = this.#evidence.submissions.flatMap(({ result }) => result?.id ?? [])
    const id = pick([...this.#evidence.runs.keys(), ...submitted], which)
    if (id === undefined || !process.isReady) return
    const cancellation: Cancellation = { process, id, result: undefined, error: undefined }
    this.#cancellations.push(cancellation)
    const known = this.#evidence.runs.get(id)
    if (known?.process === process && known.run.starts === 0) this.#cancelled.add(id)
    process.cancel(cancellation, execution => {
      // A cancellation by another process may give up, and says then how the execution is.
      if (isFinalStatus(execution.status)) this.#acknowledge(process, execution)
    })
  }

  #decide (process: SimulatedProcess, which: number, approve: boolean): void {
    const { records } = this.#world.disk
    const waiting = [...records.values()].map(({ execution }) => execution).filter(pendingApproval)
    const execution = pick(waiting, which)
    const request = execution && pendingApproval(execution)
    if (execution === undefined || request === undefined || !process.isReady) return
    const reply: Cancellation = { process, id: execution.id, result: undefined, error: undefined }
    this.#cancellations.push(reply)
    process.decide(reply, request.digest, approve ? 'approved' : 'denied', execution => {
      this.seen.add(approve ? 'approved' : 'denied')
      if (isFinalStatus(execution.status)) this.#acknowledge(process, execution)
    })
  }

  #drain (process: SimulatedProcess): void {
    const began_ms = this.#time.now_ms
    process.drain(() => {
      // A drain that ends before it can have given up has waited for everything.
      if (this.#time.now_ms < began_ms + stragglers_ms) this.#drained.push(process)
      this.#note(() => `${process.identity.started} has drained`)
      for (const { task: { execution_id } } of process.executor.runs) {
        const status = process.storage.newest(execution_id)?.execution.status
        const isFinal = status !== undefined && isFinalStatus(status)
        this.#check(() => { demand(isFinal, 'when a drain has ended, all executions have', { execution_id, status }) })
      }
    })
  }

  #began (run: SimulatedRun, process: SimulatedProcess): void {
    const id = run.task.execution_id
    const { runs, submissions } = this.#evidence
    if (!process.isAlive) return run.crash() // code that still runs here, and would not in a process that died
    this.#check(() => { demand(!runs.has(id), 'an execution is given to an executor once', id) })
    runs.set(id, { run, process })
    if (Number(run.task.parameters['request']) < keysFrom) return
    const stored = this.#world.disk.records.get(id)
    const isApproved = stored?.execution.approvals?.at(-1)?.decision === 'approved'
    const mayBegin = isApproved || run.task.parameters['asks'] !== true || run.isCancelled
    this.#check(() => { demand(mayBegin, 'what a person has to approve begins only then', stored) })
    const isKnown = stored !== undefined && stored.execution.queue?.handed_over_at !== null
    this.#check(() => { demand(isKnown || run.isCancelled, 'the disk knows what may begin', stored) })
    if (submissions.some(({ result, process: its }) => result?.id === id && its !== process)) this.seen.add('adopted')
  }

  #started (run: SimulatedRun): void {
    const id = run.task.execution_id
    this.#note(() => `the tool of ${id} starts`)
    demand(run.starts === 1, 'nothing runs twice', id)
    const request = this.#evidence.requests.find(other => other.run === run)
    const isCancelled = request?.signal.aborted === true || this.#cancelled.has(id)
    demand(!isCancelled, 'what was cancelled before it began never runs', id)
  }

  /** A client received a final record. */
  #acknowledge (process: SimulatedProcess, execution: Execution): void {
    const received = structuredClone(execution)
    this.#note(() => `a client receives ${execution.id} as ${execution.status}`)
    this.#evidence.acknowledged.push({ process, execution: received })
    this.#check(() => {
      checkRecord(received)
      demand(isFinalStatus(received.status), 'a client receives a final state', received)
      if (this.#history.durability === 'deferred') return
      const stored = this.#world.disk.records.get(execution.id)
      demand(isEqual(stored?.execution, received), 'what is acknowledged is on the disk', { stored, received })
    })
  }

  /** Lets storages commit all, and living processes close what the dead have left. */
  async #rest (): Promise<void> {
    await this.#complete()
    await this.#time.advance(unsaved_ms)
    await this.#complete()
    checkQuiet(this.#evidence)
    const { disk, alive } = this.#world
    const isLeft = (): boolean => disk.unfinished().some(({ id, owner }) =>
      // What has not begun may wait for a process that has room for it.
      !alive.has(owner.started) && disk.records.get(id)?.execution.queue?.handed_over_at !== null)
    if (!isLeft() || !this.#alive().some(({ isReady }) => isReady)) return
    await this.#time.advance(recovery_ms)
    await this.#complete()
    demand(!isLeft(), 'a living process closes what a dead one left', disk.unfinished())
  }

  /** Ends what the history left: all processes drain and exit, and another one recovers. */
  async #end (): Promise<void> {
    await this.#rest()
    const { drain_ms } = this.#world.config.execution
    const until_ms = this.#time.now_ms + drain_ms + drainSlack_ms
    for (;;) {
      await this.#complete()
      for (const process of this.#alive()) this.#drain(process)
      const runs = this.#alive().flatMap(({ executor }) => executor.runs)
      for (const run of runs) if (run.isCancelled) run.happen('timeout')
      await this.#complete()
      if (this.#alive().every(({ isDrained }) => isDrained)) break
      demand(this.#time.now_ms < until_ms, 'a drain ends')
      await this.#time.advance(100)
    }
    for (const process of this.#alive()) this.#closeExecutor(process)
    await this.#complete()
    await this.#awaitReplies()
    for (const cancellation of this.#cancellations) {
      demand(this.#hasReply(cancellation), 'a request to cancel gets its reply', cancellation.id)
    }
    for (const process of this.#alive()) await this.#exit(process)
    await this.#start(0)
    await this.#finish()
  }

  /** The last process runs what waits in the storage. */
  async #finish (): Promise<void> {
    const { disk } = this.#world
    for (let round = 0; ; round++) {
      await this.#complete()
      if (disk.unfinished().length === 0) return
      demand(round < 100, 'what waits is run', disk.unfinished())
      for (const process of this.#alive()) this.#closeExecutor(process)
      await this.#complete()
      await this.#time.advance(recovery_ms)
    }
  }

  /** Waits for the replies to requests to cancel: a process looks until another one has obeyed, or gives up. */
  async #awaitReplies (): Promise<void> {
    const until_ms = this.#time.now_ms + cancelPatience_ms
    while (this.#cancellations.some(cancellation => !this.#hasReply(cancellation)) && this.#time.now_ms < until_ms) {
      await this.#time.advance(100)
      await this.#complete()
    }
  }

  /** Whether a request to cancel got its reply, or can't get one. */
  #hasReply ({ process, id, result, error }: Cancellation): boolean {
    const isLost = this.#evidence.runs.get(id)?.run.isLost === true
    return result !== undefined || error !== undefined || !process.isAlive || isLost
  }

  /** What an executor lost answers after all, when its plugin closes. */
  #closeExecutor ({ executor }: SimulatedProcess): void {
    for (const run of executor.runs) run.finish('success')
  }

  /** The process commits what it has, and ends. */
  async #exit (process: SimulatedProcess): Promise<void> {
    this.#closeExecutor(process)
    await this.#complete(process)
    process.exit()
  }

  /** Completes all operations of the storages, or of the storage of one process. */
  async #complete (only?: SimulatedProcess): Promise<void> {
    for (let count = 0; ; count++) {
      await this.#settle()
      const among = only === undefined ? this.#alive() : [only]
      const process = among.find(({ storage }) => storage.operations.length > 0)
      if (process === undefined) return
      demand(count < operationsMax, 'a storage has an end of operations')
      operate(process, 0, succeed)
    }
  }

  async #settle (): Promise<void> {
    await this.#time.settle()
    for (const process of this.#processes) process?.settled()
    for (const process of this.#drained.splice(0)) this.#check(() => { checkReplies(process, this.#evidence) })
    if (this.#broken !== undefined) throw this.#broken
  }

  #alive (): SimulatedProcess[] {
    return this.#evidence.processes.filter(({ isAlive }) => isAlive)
  }

  /** Keeps the first rule that is broken, for `settle`. */
  #check (check: () => void): void {
    try {
      check()
    } catch (error) {
      this.#broken ??= error
    }
  }

  #note (text: () => string): void {
    if (this.#traces) this.trace.push(text())
  }
}

/** Goes on with an operation that the storage of a process has begun. */
function operate ({ storage }: SimulatedProcess, which: number, fate: Fate): void {
  const operation = pick(storage.operations, which)
  if (operation?.complete(fate) !== true) return
  const index = storage.operations.indexOf(operation)
  if (index >= 0) storage.operations.splice(index, 1)
}

/** Something happens to a run of a process: to one that has not ended, where that makes a difference. */
function happen ({ executor: { runs } }: SimulatedProcess, which: number, happening: Happening): void {
  const open = happening === 'start again' ? runs : runs.filter(run => !run.isAnswered && !run.isLost)
  pick(open, which)?.happen(happening)
}

function pick<T> (items: readonly T[], which: number): T | undefined {
  return items[which % items.length]
}
