/** What goes wrong in a schedule. A seed chooses faults; a plan that was recorded repeats some of them. */
import type { DurableObjectHost } from './platform/durable-object.ts'
import { Random } from './platform/random.ts'
import type { SimulatedBody } from './platform/received-body.ts'
import type { World } from './world.ts'

/** A fault after an event: the count of the event, what happens, and to what. */
export type Fault = { readonly at: number; readonly kind: FaultKind; readonly target: string }

/** Finds targets of a fault, by name. `label`: the event that has just happened. */
type FaultDefinition = (world: World, label: string) => ReadonlyMap<string, () => void>

const objectsWhere = (
  world: World,
  isTarget: (object: DurableObjectHost) => boolean,
  act: (object: DurableObjectHost) => void,
) => {
  const objects = [...world.platform.objects.values()].filter(isTarget)
  return new Map(objects.map((object) => [object.label, () => act(object)]))
}

const numbered = (acts: Iterable<() => void>) => new Map([...acts].map((act, index) => [String(index), act]))
const jumpsMs = [1000, 25_000, 600_000]

/** Milliseconds for which a client reads nothing: the longest is more than the maximum age of streams. */
const pausesMs = [1000, 5000, 20_000, 40_000, 120_000, 600_000, 5_400_000]
const slowMs = [2000, 10_000, 60_000, 600_000]
/** Milliseconds after which a Worker notices that its client has left. */
const noticedMs = [1, 20_000, 600_000]

/** Finds what may happen to each open connection for some time. */
function onConnections(
  { platform }: World,
  times: readonly number[],
  acts: Readonly<Record<string, (connection: SimulatedBody, ms: number) => void>>,
): ReadonlyMap<string, () => void> {
  const found = new Map<string, () => void>()
  for (const [index, connection] of [...platform.connections].entries()) {
    for (const ms of times) {
      for (const [how, act] of Object.entries(acts)) found.set(`${index} ${how} ${ms} ms`, () => act(connection, ms))
    }
  }
  return found
}

/** Clients may be late by the time for which one of them is kept from reading. */
function hold(world: World, ms: number): void {
  world.heldSeconds += ms / 1000
  world.lastFaultAt = Math.max(world.lastFaultAt, world.platform.loop.now + ms)
}

const definitions = {
  /** An instance loses its memory and what is not durable. An object that the event is about is likely in the middle of something. */
  crash: (world, label) => {
    const all = objectsWhere(
      world,
      ({ isRunning }) => isRunning,
      (object) => object.crash(),
    )
    const named = [...all].filter(([name]) => label.includes(`${name}.`))
    return named.length > 0 && world.platform.loop.count % 3 > 0 ? new Map(named) : all
  },
  /** A crash when something was written that is not durable. */
  'crash before commit': (world) =>
    objectsWhere(
      world,
      ({ storage, isRunning }) => storage.isDirty && isRunning,
      (object) => object.crash(),
    ),
  evict: (world) => {
    const idle = [
      ...objectsWhere(
        world,
        ({ isIdle }) => isIdle,
        (object) => object.evict(),
      ).values(),
    ]
    const evictAll = () => {
      for (const act of idle) act()
    }
    return new Map(idle.length > 0 ? [['idle objects', evictAll]] : [])
  },
  deploy: ({ platform }) => new Map([['', () => platform.deploy()]]),
  'lose isolate': ({ platform }) => new Map([['', () => platform.loseIsolate()]]),
  /** A client loses its connection. */
  cut: (world) => onConnections(world, noticedMs, { 'noticed after': (connection, ms) => connection.cut(ms) }),
  /** A client reads nothing for a while. Then it goes on, or leaves. */
  'stop reading': (world) =>
    onConnections(world, pausesMs, {
      for(connection, ms) {
        connection.stopReading(ms)
        hold(world, ms)
      },
      'and leave after'(connection, ms) {
        connection.leaveAfter(ms)
        hold(world, ms)
      },
    }),
  /** A client reads less than is sent. */
  'read slowly': (world) =>
    onConnections(world, slowMs, {
      '300 B/s for'(connection, ms) {
        connection.readSlowly(300, ms)
        hold(world, ms)
      },
      '20 KB/s for'(connection, ms) {
        connection.readSlowly(20_000, ms)
        hold(world, ms)
      },
    }),
  /** A call between objects is not answered. */
  sever: ({ platform }) => numbered(platform.calls),
  /** An object is busy for so long that a call to it counts as lost. */
  stall: (world) =>
    objectsWhere(
      world,
      ({ isRunning }) => isRunning,
      (object) => object.stall(7000),
    ),
  'break socket': ({ platform }) =>
    numbered([...platform.objects.values()].flatMap(({ sockets }) => [...sockets].map((one) => () => one.break()))),
  'jump clock': (world) =>
    new Map(
      jumpsMs.map((ms) => [
        `${ms} ms`,
        () => {
          world.platform.loop.now += ms
          world.jumpedSeconds += ms / 1000
        },
      ]),
    ),
  /** Alarms are delivered at least once. */
  'repeat alarm': (world) =>
    objectsWhere(
      world,
      ({ isAlarmDue }) => isAlarmDue,
      (object) => object.fireAlarm(),
    ),
} satisfies Record<string, FaultDefinition>

export type FaultKind = keyof typeof definitions

export const faultKinds = Object.keys(definitions) as readonly FaultKind[]

/** Faults after which an object has forgotten what is in memory. */
const losing = new Set<FaultKind>(['crash', 'crash before commit', 'evict', 'deploy', 'lose isolate'])

function happen(world: World, fault: Fault, act: () => void, happened: Fault[]): void {
  happened.push(fault)
  world.faultCount += 1
  if (losing.has(fault.kind)) world.lossCount += 1
  world.platform.loop.trail(`FAULT ${fault.kind} ${fault.target}`)
  act()
  world.lastFaultAt = Math.max(world.lastFaultAt, world.platform.loop.now)
}

/**
 * Lets faults happen that a seed chooses. Each schedule has some kinds of faults only, so that some have many of one kind; some have
 * all of them close together.
 *
 * @param firstAt the seed chooses one: the events before the first fault, at most
 * @returns the faults, as they happen
 */
export function injectFaults(
  world: World,
  seed: number,
  most: number,
  kinds: readonly FaultKind[],
  firstAt: readonly number[],
): readonly Fault[] {
  const random = new Random(seed)
  const happened: Fault[] = []
  const left = random.whole(0, most)
  const swarm = kinds.filter(() => random.chance(0.35))
  const chosen = swarm.length > 0 ? swarm : kinds
  const probability = random.pick([0.01, 0.03, 0.1, 0.3])
  const firstEvent = random.whole(0, random.pick(firstAt))
  const { loop } = world.platform
  loop.onEvent = (label) => {
    if (happened.length >= left || loop.count < firstEvent || !random.chance(probability)) return
    const kind = random.pick(chosen)
    const targets = [...definitions[kind](world, label)]
    if (targets.length === 0) return
    const [target, act] = random.pick(targets)
    happen(world, { at: loop.count, kind, target }, act, happened)
  }
  return happened
}

/** Lets faults happen that were recorded. One without its target does not happen. */
export function repeatFaults(world: World, plan: readonly Fault[]): readonly Fault[] {
  const happened: Fault[] = []
  const { loop } = world.platform
  loop.onEvent = (label) => {
    for (const fault of plan) {
      if (fault.at !== loop.count) continue
      const act = definitions[fault.kind](world, label).get(fault.target)
      if (act) happen(world, fault, act, happened)
    }
  }
  return happened
}
