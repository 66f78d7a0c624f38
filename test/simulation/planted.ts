/** Planted defects: each is a mistake that somebody could make, and that schedules must find. */
import type { FaultKind } from './faults.ts'
import type { Replacement } from './platform/bundle.ts'

export type PlantedDefect = Replacement & {
  readonly name: string
  /** What the server does wrong. */
  readonly means: string
  /** The clients and the kinds of faults that find it soon. Default: all. */
  readonly clients?: readonly string[]
  readonly kinds?: readonly FaultKind[]
}

const session = 'durable-objects/session'
const shared = 'durable-objects/shared'
const subscriptions = 'durable-objects/subscriptions'
const task = 'durable-objects/task'

export const planted: readonly PlantedDefect[] = [
  // Events and streams
  {
    name: 'a POST is acknowledged before it is stored',
    means: 'The response to a POST names a stream that a crash undoes.',
    file: `${session}/respond-to-post.ts`,
    search: 'session.streams.flush()',
    replacement: '',
    clients: ['HTTP+SSE'],
    kinds: ['crash', 'deploy'],
  },
  {
    name: 'a resumed stream repeats its last event',
    means: 'A stream that continues begins with the event that its client already has.',
    file: `${shared}/event-log.ts`,
    search: 'WHERE stream = ? AND seq > ? ORDER BY seq',
    replacement: 'WHERE stream = ? AND seq >= ? ORDER BY seq',
    clients: ['calls', 'questions'],
    kinds: ['cut', 'sever', 'crash'],
  },
  {
    name: 'positions begin again in a new instance',
    means: 'After a crash, events are numbered from one again.',
    file: `${shared}/event-log.ts`,
    search: 'this.#positions.get(stream) ?? this.#readPosition(stream)',
    replacement: 'this.#positions.get(stream) ?? { seq: 0, total: 0, messages: 0, messageTotal: 0 }',
    clients: ['calls'],
    kinds: ['crash', 'deploy'],
  },
  {
    name: 'a relay forgets what it has sent',
    means: 'A relay that reconnects continues after its first event.',
    file: 'worker/http/relay.ts',
    search: 'this.#lastId = message.id ?? this.#lastId',
    replacement: 'this.#lastId ??= message.id',
    clients: ['calls', 'subscribers'],
    kinds: ['break socket', 'deploy'],
  },
  {
    name: 'a new stream is not primed',
    means: 'A client that is cut before the first event cannot continue.',
    file: `${session}/streams.ts`,
    search: 'if (primes) socket.send',
    replacement: 'if (primes && started) socket.send',
    clients: ['calls', 'subscribers'],
  },
  {
    name: 'a finished stream cannot be resumed',
    means: 'The events of a call are deleted when the next stream opens.',
    file: `${shared}/delete-finished-streams.ts`,
    search: 'oldestAt >= now - maxAgeMs',
    replacement: 'oldestAt >= now',
    clients: ['calls'],
    kinds: ['cut', 'sever'],
  },
  {
    name: 'the log keeps too little',
    means: 'Of the notifications of a stream, only the last is kept.',
    file: `${shared}/trim-stream-events.ts`,
    search: '[countNow, totalNow] = [seq - messages, total - messageTotal]',
    replacement: '[countNow, totalNow] = [seq - messages + maxEvents - 1, total - messageTotal]',
    clients: ['calls'],
    kinds: ['cut'],
  },
  {
    name: 'messages of a follower are repeated',
    means: 'A Worker that follows a stream gets the same messages each time.',
    file: `${session}/follower.ts`,
    search: 'this.#messages = []\n    this.#characters = 0',
    replacement: 'this.#characters = 0',
    clients: ['calls'],
  },

  // Calls
  {
    name: 'lost calls are not recovered',
    means: 'A call that was running in a lost instance never ends.',
    file: `${session}/recover-calls.ts`,
    search: 'if (!session.isNew) return',
    replacement: 'return',
    clients: ['calls'],
    kinds: ['crash', 'deploy'],
  },
  {
    name: 'an alarm does not recover calls',
    means: 'A call waits until its client is back.',
    file: `${session}/object.ts`,
    search: 'const { epoch } = session.lifetime\n    recoverCalls(session)\n    session.clientTasks?.poll()',
    replacement: 'const { epoch } = session.lifetime\n    session.clientTasks?.poll()',
    clients: ['calls'],
    kinds: ['crash', 'deploy'],
  },
  {
    name: 'a running call has no alarm',
    means: 'Nothing wakes a session whose instance is lost while its client is away.',
    file: `${session}/keep-awake.ts`,
    search: 'void session.alarms.set({ hold',
    replacement: 'void ({ hold',
    clients: ['calls'],
    kinds: ['crash', 'deploy'],
  },
  {
    name: 'a tool that must run once runs again',
    means: 'A tool without readOnlyHint is repeated after a crash.',
    file: 'worker/engine/retry-policy.ts',
    search: 'return readOnlyHint === true || idempotentHint === true',
    replacement: 'return readOnlyHint !== false || idempotentHint === true',
    clients: ['calls'],
    kinds: ['crash', 'deploy'],
  },
  {
    name: 'a call is given up too soon',
    means: 'A call that could run again ends as interrupted.',
    file: `${session}/recover-calls.ts`,
    search: 'call.repeats < mostRepeats',
    replacement: 'call.repeats < 0',
    clients: ['calls'],
    kinds: ['crash', 'deploy'],
  },
  {
    name: 'notifications are repeated',
    means: 'A call that runs again sends its progress again.',
    file: `${session}/recover-calls.ts`,
    search: 'Math.max(call.journal.notificationsSent, session.log.saidBy(row, call.stream))',
    replacement: 'call.journal.notificationsSent',
    clients: ['calls'],
    kinds: ['crash', 'deploy'],
  },
  {
    name: 'an answered call is not forgotten',
    means: 'A call that was answered runs again in the next instance.',
    file: `${session}/replies.ts`,
    search: 'if (call.row !== undefined) session.ledger.end(call.row)',
    replacement: '',
    clients: ['calls'],
    kinds: ['crash', 'deploy'],
  },

  // Input requests
  {
    name: 'an answer is not stored',
    means: 'After a crash, a call asks again what its client has answered.',
    file: `${shared}/call-ledger.ts`,
    search: 'this.#put(row, text)\n    return entry.questions.size',
    replacement: 'return entry.questions.size',
    clients: ['questions'],
    kinds: ['crash', 'deploy'],
  },
  {
    name: 'an answered question stays open',
    means: 'After a crash, a call waits for an answer that it has.',
    file: `${shared}/call-ledger.ts`,
    search: "this.#sql.exec('DELETE FROM questions WHERE id = ?', id)",
    replacement: '',
    clients: ['questions'],
    kinds: ['crash', 'deploy'],
  },
  {
    name: 'effects are missing in the journal',
    means: 'ctx.once runs again after an answer.',
    file: 'worker/engine/round.ts',
    search: 'this.#records.effects.set(key, { value })',
    replacement: '',
    clients: ['questions'],
  },

  // Lifetime
  {
    name: 'a tombstone without alarm',
    means: 'A session that its client has ended is never deleted.',
    file: `${session}/lifetime.ts`,
    search: 'await this.#alarms.set({ tombstone: ended })',
    replacement: '',
    clients: ['calls'],
  },
  {
    name: 'a session is not deleted',
    means: 'A session that has expired remains in storage.',
    file: `${session}/lifetime.ts`,
    search: 'const deleting = storage.deleteAll()',
    replacement: 'const deleting = Promise.resolve()',
    clients: ['calls'],
  },
  {
    name: 'keys are not stored',
    means: 'Each isolate seals with keys of its own.',
    file: 'durable-objects/store/object.ts',
    search: "kv.put('keys', minted)",
    replacement: '',
    clients: ['stateless calls'],
  },

  // Subscriptions
  {
    name: 'a subscription is not stored',
    means: 'A resource that a session subscribes to has no row.',
    file: `${subscriptions}/session-subscriptions.ts`,
    search: 'for (const topic of caller === undefined ? topics : [...topics, caller])',
    replacement: 'for (const topic of resource === undefined ? topics : [])',
    clients: ['subscribers'],
  },

  // Tasks
  {
    name: 'an effect of a task is not stored',
    means: 'ctx.once of a task runs again in the next run.',
    file: `${task}/handler-run.ts`,
    search: 'store.putEffect(key, value)',
    replacement: '',
    clients: ['tasks'],
  },
  {
    name: 'a task that sleeps has no alarm',
    means: 'A task sleeps forever.',
    file: `${task}/lifetime.ts`,
    search: 'Math.min(due, wakes)',
    replacement: 'wakes',
    clients: ['tasks'],
  },
  {
    name: 'a task does not expire',
    means: 'The alarm of a task that has ended is not set.',
    file: `${task}/lifetime.ts`,
    search: 'run, redelivery: redeliveryOf(record), expiry: expiryOf(record)',
    replacement: 'run, redelivery: redeliveryOf(record)',
    clients: ['tasks'],
  },
  {
    name: 'an expired task remains',
    means: 'The storage of a task is not deleted.',
    file: `${task}/task-store.ts`,
    search: 'await this.#storage.deleteAll()',
    replacement: '',
    clients: ['tasks'],
  },
  {
    name: 'the result of a task is stored too late',
    means: 'A task has ended for its client before its result is stored.',
    file: `${task}/status-publisher.ts`,
    search: 'change(next)\n      this.#store.save(next)',
    replacement: 'this.#store.save(next)\n      void Promise.resolve().then(() => change(next))',
    clients: ['stateless tasks'],
  },
  {
    name: 'answers of a task are not stored',
    means: 'A task asks again what its client has answered.',
    file: `${task}/task-store.ts`,
    search: 'withAnswers(this.#answers, Object.fromEntries(answered))',
    replacement: 'this.#answers',
    clients: ['stateless tasks'],
  },
  {
    name: 'listed tasks are never deleted',
    means: 'The list of tasks has no alarm.',
    file: `${task}/task-list.ts`,
    search: 'await this.#alarms.add(expires + batch)',
    replacement: '',
    clients: ['tasks'],
  },
]

/** @throws Error for an unknown name */
export function plantedDefect(name: string): PlantedDefect {
  const defect = planted.find((one) => one.name === name)
  if (!defect)
    throw new Error(`There is no planted defect "${name}": choose from\n${planted.map((one) => one.name).join('\n')}`)
  return defect
}
