/**
 * Measures calls in sessions that send progress events while they run, in turns with two minimal servers, one that keeps nothing and one
 * that keeps each event as a row, and with the other libraries. Counts what the calls of edgemcp cost.
 */
import { join } from 'node:path'
import { tallyOf } from './billing.ts'
import type { Choice } from './compare/index.ts'
import { compare, type Measurement } from './compare/measure.ts'
import { buildBefore, type Participant, participants } from './compare/participants.ts'
import { choose, counting, type Scenario } from './compare/scenarios.ts'
import { timesOf } from './compare/tables.ts'
import { sessions } from './compare/ways.ts'
import { Folder } from './folder.ts'
import { spreadOf, spreadText } from './report.ts'
import type { Tally } from './servers/billed/tally.ts'
import type { Sizes } from './servers/offer.ts'

export type Figures = {
  readonly measurements: readonly Measurement[]
  /** What a call of edgemcp costs. */
  readonly tallies: readonly { readonly scenario: string; readonly tally: Tally }[]
}

const way = sessions('2025-11-25')
const floor = { entry: 'servers/floor-running.ts', objects: ['FloorObject'], compatibilityFlags: [] }
const floors: readonly Participant[] = [
  { name: 'floor', session: { worker: floor, way } },
  { name: 'floor with rows', session: { worker: { ...floor, bindings: { ROWS: '1' } }, way } },
]

const scenario = (key: string, name: string, sizes: Partial<Sizes>, more: Partial<Scenario> = {}): Scenario => ({
  key,
  name,
  offer: 'talking',
  lane: 'session',
  sessions: 200,
  sizes,
  run: (client, number) => counting(client, number, number, sizes),
  ...more,
})

export const scenarios: readonly Scenario[] = [
  ...[0, 2, 20].map((pauseMs) => scenario(`${pauseMs} ms`, `five events, ${pauseMs} ms before each`, { pauseMs })),
  scenario(
    'slow',
    'five events, 2 ms before each, to a client that reads every 20 ms',
    { pauseMs: 2 },
    { readPauseMs: 20 },
  ),
  scenario('10 s', 'ten events, 1 s before each', { steps: 10, pauseMs: 1000 }, { operations: 200, isIdle: true }),
  scenario('1 KB', 'one event, and a result of 1 KB', { steps: 1, resultCharacters: 1000 }),
  scenario('100 KB', 'one event, and a result of 100 KB', { steps: 1, resultCharacters: 100_000 }),
]

/** @throws Error for a wrong response */
export async function measurePauses(
  { rounds, only, withPeers, before }: Choice,
  report: (line: string) => void,
): Promise<Figures> {
  const chosen = choose(scenarios, only)
  const others = participants.filter(({ name, isPeer }) => name !== 'floor' && (withPeers || !isPeer))
  const taking = [...floors, ...others, ...(before === undefined ? [] : [buildBefore(before)])]
  const measurements = await compare(chosen, taking, rounds, report)
  report('requests and rows')
  using folder = new Folder()
  const tallies: { scenario: string; tally: Tally }[] = []
  for (const one of chosen) {
    tallies.push({ scenario: one.key, tally: await tallyOf(one, join(folder.path, `${tallies.length}`)) })
  }
  return { measurements, tallies }
}

/** The figures as Markdown. */
export function pausesTables({ measurements, tallies }: Figures): string {
  const measured = measurements.map(({ scenario, server, cpu, latency, firstByteMs, bytes }) => {
    const times = (name: string) => {
      const base = measurements.find((one) => one.scenario === scenario && one.server === name)
      return base ? spreadText(timesOf(cpu, base.cpu), 2) : '–'
    }
    const micros = spreadText(spreadOf(cpu), 0)
    const ms = [firstByteMs, latency.p50].map((value) => value.toFixed(1))
    return [scenario, server, micros, times('floor'), times('floor with rows'), ...ms, `${bytes}`]
  })
  const counted = tallies.map(({ scenario, tally }) => [scenario, `${tally.requests}`, `${tally.rowsWritten}`])
  return [
    table(
      ['call', 'server', 'µs of CPU', '× floor', '× floor with rows', 'ms to the first byte', 'ms to the end', 'bytes'],
      measured,
    ),
    table(['call of edgemcp', 'requests to its Durable Object', 'rows written'], counted),
  ].join('\n\n')
}

const table = (head: readonly string[], rows: readonly (readonly string[])[]) =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
