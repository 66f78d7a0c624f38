/** Measures how the cost of an operation grows, and prints it as tables. */
import { type Curve, curves } from './compare/curves.ts'
import { compare, type Measurement } from './compare/measure.ts'
import { type Participant, participants } from './compare/participants.ts'
import { choose } from './compare/scenarios.ts'
import { timesOf } from './compare/tables.ts'
import { spreadOf, spreadText } from './report.ts'

export type Choice = {
  readonly rounds: number
  /** Keys of curves. Default: all. */
  readonly only?: readonly string[] | undefined
  readonly withPeers: boolean
}

/** @throws Error for a wrong response */
export async function measureScale(
  { rounds, only, withPeers }: Choice,
  report: (line: string) => void,
): Promise<{ measurements: readonly Measurement[]; tables: string }> {
  const chosen = choose(curves, only)
  const taking = participants.filter(({ isPeer }) => withPeers || !isPeer)
  const scenarios = chosen.flatMap(({ points }) => points.map(({ scenario }) => scenario))
  const measurements = await compare(scenarios, taking, rounds, report)
  return { measurements, tables: chosen.map((curve) => tableOf(curve, taking, measurements)).join('\n\n') }
}

/** One row for each size: microseconds of the floor for an operation, and the multiples of the others. */
function tableOf(
  { name, unit, points }: Curve,
  participants: readonly Participant[],
  measurements: readonly Measurement[],
): string {
  const [floor, ...others] = participants.map((participant) => participant.name)
  const rows = points.map(({ size, scenario }) => {
    const cpuOf = (server: string | undefined) =>
      measurements.find((row) => row.scenario === scenario.key && row.server === server)?.cpu
    const base = cpuOf(floor) ?? []
    const cells = others.map((server) => {
      const cpu = cpuOf(server)
      return cpu ? spreadText(timesOf(cpu, base), 2) : '–'
    })
    return [size.toLocaleString('en'), `${spreadText(spreadOf(base), 0)} µs`, ...cells]
  })
  const head = [unit, `${floor}, CPU for an operation`, ...others.map((server) => `${server}, × ${floor}`)]
  const lines = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`)
  return [`### ${name}`, '', ...lines].join('\n')
}
