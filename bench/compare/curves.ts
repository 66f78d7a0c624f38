/** The cost of an operation, as one quantity grows: sessions, tools, events of a stream, and the size of a message. */
import { readFileSync } from 'node:fs'
import { counting, echo, list, type Scenario } from './scenarios.ts'

export type Point = {
  readonly size: number
  readonly scenario: Scenario
}

export type Curve = {
  readonly key: string
  readonly name: string
  /** What `size` counts. */
  readonly unit: string
  readonly points: readonly Point[]
}

const stateless = { offer: 'plain', lane: 'stateless', sessions: 1 } as const
const talking = { offer: 'talking', sessions: 1 } as const

/** Files that an object keeps open while it is in memory. Objects are not evicted here. */
const filesPerObject = 3

/** As many sessions as the limit of open files allows. */
function sessionCounts(): number[] {
  const [, limit] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
  return [100, 1400, 5000, 10_000].filter((count) => count * filesPerObject < Number(limit))
}

const curve = (
  key: string,
  name: string,
  unit: string,
  sizes: readonly number[],
  scenarioOf: (size: number) => Omit<Scenario, 'key' | 'name'>,
): Curve => ({
  key,
  name,
  unit,
  points: sizes.map((size) => ({
    size,
    scenario: { key: `${key} ${size}`, name: `${name}: ${size} ${unit}`, ...scenarioOf(size) },
  })),
})

export const curves: readonly Curve[] = [
  curve('sessions', 'Echo in each of many sessions in turn', 'sessions', sessionCounts(), (size) => ({
    offer: 'plain',
    lane: 'session',
    sessions: size,
    run: (client, number) => echo(client, number, number),
  })),
  curve('tools', '`tools/list` of many tools', 'tools', [10, 100, 1000], (size) => ({
    ...stateless,
    offer: 'many',
    sizes: { tools: size },
    run: list(size),
  })),
  curve('called', '`tools/call` on a server with many tools', 'tools', [10, 100, 1000], (size) => ({
    ...stateless,
    offer: 'many',
    sizes: { tools: size },
    run: (client, number) => echo(client, number),
  })),
  curve('body', 'Echo of a long text', 'characters', [1000, 10_000, 100_000, 1_000_000], (size) => {
    const padding = 'x'.repeat(size)
    return { ...stateless, run: (client, number) => echo(client, number, undefined, padding) }
  }),
  curve('events', 'Progress over SSE, stateless', 'events', [10, 100, 1000, 10_000, 100_000], (size) => ({
    ...talking,
    lane: 'stateless',
    sizes: { steps: size },
    // A turn of the usual size takes minutes.
    ...(size >= 10_000 && { operations: 100_000 / size }),
    run: (client, number) => counting(client, number, undefined, { steps: size }),
  })),
  // Ends at the default of `log.maxEvents`: a client that reads more slowly than the handler sends does not get the oldest of more events.
  curve('stored', 'Progress over SSE in a session', 'events', [10, 100, 1000], (size) => ({
    ...talking,
    lane: 'session',
    sessions: 16,
    sizes: { steps: size },
    run: (client, number) => counting(client, number, number, { steps: size }),
  })),
]
