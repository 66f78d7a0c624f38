/** The cost of authentication: a table, and a summary. */
import { times } from './fanout-report.ts'
import type { Measurement } from './measure.ts'
import { type Spread, spreadOf, tableOf } from './report.ts'

export function authReport(measurements: readonly Measurement[]): string {
  const [open, again, ...guarded] = measurements as [Measurement, Measurement, ...Measurement[]]
  const [same, other] = [0, 1].map((row) => guarded.filter((_, index) => index % 2 === row)) as [
    Measurement[],
    Measurement[],
  ]
  const percent = (of: readonly Measurement[]) => percentOf(spreadOf(of.flatMap(({ cpu }) => ratios(cpu, open.cpu))))
  const checked = spreadOf(other.flatMap(({ cpu }, index) => differences(cpu, same[index]?.cpu ?? [])))
  return [
    tableOf(measurements),
    '',
    `A token that was checked within the last minute costs ${percent(same)}, one that was not ${percent(other)}.`,
    `To check one takes ${checked.median.toFixed(0)} µs of CPU (${checked.min.toFixed(0)}..${checked.max.toFixed(0)}).`,
    `Two servers that do not differ differ by ${percentOf(times(again.cpu, open.cpu))} here: smaller differences mean nothing.`,
  ].join('\n')
}

const ratios = (of: readonly number[], to: readonly number[]) => of.map((value, round) => value / (to[round] as number))
const differences = (of: readonly number[], to: readonly number[]) =>
  of.map((value, round) => value - (to[round] as number))

function percentOf({ median, min, max }: Spread): string {
  const percent = (value: number) => ((value - 1) * 100).toFixed(1)
  return `${percent(median)} % (${percent(min)}..${percent(max)})`
}
