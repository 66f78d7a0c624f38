/** Runs schedules. */
import assert from 'node:assert/strict'
import { type Fault, type FaultKind, faultKinds, injectFaults, repeatFaults } from './faults.ts'
import type { BundledServer } from './servers.ts'
import { World } from './world.ts'

export type Settings = {
  /** The most faults of a schedule. Default: 8. */
  readonly mostFaults?: number
  readonly faultKinds?: readonly FaultKind[]
  /** Faults that were recorded, in the place of those of the seed. */
  readonly plan?: readonly Fault[]
  /** Kinds of clients, of which the seed chooses. Default: all. */
  readonly clients?: readonly string[]
  readonly keepsTrace?: boolean
  readonly isUngated?: boolean
}

export type Outcome = {
  readonly seed: number
  /** What was violated. */
  readonly violation: Error | undefined
  readonly faults: readonly Fault[]
  readonly events: number
  readonly digest: string
  readonly trace: readonly string[]
  readonly logs: readonly string[]
}

const dayMs = 86_400_000

/**
 * The seed chooses one: how many kinds of clients run together. Short schedules find most planted defects sooner; kinds that disturb each
 * other find the others.
 */
const sizes = [1, 1, 1, 1, 1, 1, 1, 1, 1, 3]

/** What is logged without a fault: a tool that fails, tokens and events that are refused, and a server that fails. */
const expected = [
  'The first attempt fails',
  "has ended: reauthorize of the server's auth refused the caller who began it",
  'OAuth error response: 400 invalid_grant',
  'as too large: it is not sent again',
  'The directory does not answer',
]

/** Runs the schedule of a seed: some kinds of clients, and some faults. */
export async function simulate(
  { versions, scripts, days, firstFaultAt }: BundledServer,
  seed: number,
  settings: Settings = {},
): Promise<Outcome> {
  const {
    mostFaults = 8,
    faultKinds: kinds = faultKinds,
    plan,
    clients = Object.keys(scripts),
    keepsTrace = false,
    isUngated = false,
  } = settings
  const world = new World(versions, { seed, keepsTrace, isUngated })
  const { random, platform } = world
  const faults = plan
    ? repeatFaults(world, plan)
    : injectFaults(world, seed * 7919 + 1, mostFaults, kinds, firstFaultAt)
  // Clients that were named run together.
  const size = settings.clients?.length ?? random.pick(sizes)
  for (const kind of random.some(clients, size)) scripts[kind]?.(world)
  let violation: Error | undefined
  try {
    await platform.loop.run(platform.loop.start + days * dayMs)
    if (platform.loop.failure !== undefined) throw platform.loop.failure
    checkEnd(world, faults.length > 0, days)
  } catch (problem) {
    violation = problem instanceof Error ? problem : new Error(String(problem))
  }
  for (const { storage } of platform.objects.values()) storage.close()
  const { count: events, trace } = platform.loop
  return { seed, violation, faults, events, digest: platform.loop.digest(), trace, logs: platform.logs }
}

/** What must be true after each schedule. */
function checkEnd(world: World, hadFaults: boolean, days: number): void {
  assert.deepEqual([...world.waiting], [], 'these clients wait forever')
  for (const check of world.checks) check()
  const unanswered = world.platform.logs.filter((log) => log.startsWith('uncaught in request'))
  assert.deepEqual(unanswered, [], 'the Worker threw an error in the place of an answer')
  const isUnexpected = (log: string) => !expected.some((text) => log.includes(text))
  const errors = [...world.platform.logs, ...world.serverErrors].filter(isUnexpected)
  if (!hadFaults) assert.deepEqual(errors, [], 'errors without a fault')
  // A body has 256 KiB, of which the Worker keeps a copy. Later events wait in the Worker: 1 MiB, and what was sent at once. Those are
  // 256 KiB and an event.
  const { written, copied, queued } = world.platform.buffers.most
  assert.ok(written <= 600_000, `${written} bytes were written for one reader, and not read`)
  assert.ok(copied <= 256 * 1024, `${copied} bytes were copied for one reader`)
  assert.ok(queued <= 1024 * 1024 + 600_000, `${queued} bytes were queued for one reader`)
  for (const object of world.platform.objects.values()) {
    const { label, name, className, storage } = object
    if (name === 'keys') continue
    assert.ok(!object.isRunning || object.isIdle, `${label} is kept in memory after ${days} days`)
    assert.equal(storage.isDirty, false, `${label} has written what was never committed`)
    assert.equal(storage.durableAlarm, null, `${label} has an alarm after ${days} days`)
    // A session that could not be called leaves its rows until it is called again.
    const { subscriptions = [], parkedSessions = [] } = storage.dump()
    if (!hadFaults)
      assert.deepEqual([...subscriptions, ...parkedSessions], [], `${label} has subscriptions after ${days} days`)
    // It remembers the last change.
    if (className === 'McpSubscriptions' || storage.isEmpty) continue
    assert.fail(`${label} (${name}) stores ${JSON.stringify(storage.dump()).slice(0, 400)} after ${days} days`)
  }
}

/** Drops faults as long as the schedule still violates something. Returns those that are left. */
export async function shrinkFaults(
  server: BundledServer,
  { seed, faults }: Outcome,
  settings: Settings,
): Promise<readonly Fault[]> {
  let left = faults
  for (let index = 0; index < left.length; ) {
    const fewer = left.filter((_, position) => position !== index)
    const { violation } = await simulate(server, seed, { ...settings, plan: fewer })
    if (violation) left = fewer
    else index += 1
  }
  return left
}

/** Returns the command that repeats a schedule with some of its faults. */
export function repeatCommand({ seed, faults }: Outcome, kept: readonly Fault[]): string {
  const indexes = kept.map((fault) => faults.indexOf(fault))
  return `npm run simulate -- --seed ${seed} --keep ${indexes.join(',')} --trace`
}
