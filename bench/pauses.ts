/**
 * Measures calls in sessions that send five progress events with pauses between them, in turns with two minimal servers: one that keeps
 * nothing, and one that keeps each event as a row.
 */
import { compare, type Measurement } from './compare/measure.ts'
import { buildBefore, type Participant, participants } from './compare/participants.ts'
import { counting, type Scenario } from './compare/scenarios.ts'
import { sessions } from './compare/ways.ts'
import { spreadOf, spreadText } from './report.ts'

/** Milliseconds before each event. */
const pauses = [0, 2, 20] as const

const way = sessions('2025-11-25')
const floor = { entry: 'servers/floor-running.ts', objects: ['FloorObject'], compatibilityFlags: [] }
const floors: readonly Participant[] = [
  { name: 'floor', session: { worker: floor, way } },
  { name: 'floor with rows', session: { worker: { ...floor, bindings: { ROWS: '1' } }, way } },
]

export const scenarios = pauses.map(
  (pauseMs): Scenario => ({
    key: `${pauseMs} ms`,
    name: `five events, ${pauseMs} ms between them`,
    offer: 'talking',
    lane: 'session',
    sessions: 200,
    sizes: { pauseMs },
    run: (client, number) => counting(client, number, number),
  }),
)

/** @param before a folder with another build of edgemcp */
export function measurePauses(
  rounds: number,
  before: string | undefined,
  report: (line: string) => void,
): Promise<Measurement[]> {
  const own = participants.filter(({ name }) => name === 'edgemcp')
  const taking = [...floors, ...own, ...(before === undefined ? [] : [buildBefore(before)])]
  return compare(scenarios, taking, rounds, report)
}

/** The measurements as Markdown. */
export function pausesTable(measurements: readonly Measurement[]): string {
  const rows = measurements.map(({ scenario, server, cpu, latency }) => {
    const times = (name: string) => {
      const base = measurements.find((one) => one.scenario === scenario && one.server === name)?.cpu ?? []
      return spreadText(spreadOf(cpu.map((value, round) => value / (base[round] as number))), 2)
    }
    const micros = spreadText(spreadOf(cpu), 0)
    return [scenario, server, micros, times('floor'), times('floor with rows'), latency.p50.toFixed(1)]
  })
  const head = ['between events', 'server', 'µs of CPU', '× floor', '× floor with rows', 'ms, median']
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}
