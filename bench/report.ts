/** The measurements as ratios with their spread: in a table, and in a file. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import type { Measurement } from './measure.ts'
import manifest from './package.json' with { type: 'json' }
import { type Comparison, comparisons } from './servers.ts'

export type Spread = { median: number; min: number; max: number }

export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length / 2
  const median = ((sorted[Math.ceil(middle) - 1] as number) + (sorted[Math.floor(middle)] as number)) / 2
  return { median, min: sorted[0] as number, max: sorted.at(-1) as number }
}

/** Compared round by round, because the load of the machine during a round was the same for both. */
const ratio = (of: Measurement, to: Measurement): Spread =>
  spreadOf(of.cpu.map((microseconds, round) => microseconds / (to.cpu[round] as number)))

/** The others are compared with the first row of each scenario. */
const baseOf = (measurements: readonly Measurement[], { scenario }: Measurement) =>
  measurements.find((other) => other.scenario === scenario) as Measurement

export function tableOf(measurements: readonly Measurement[]): string {
  const rows = measurements.map((measurement) => {
    const base = baseOf(measurements, measurement)
    const times = spreadText(ratio(measurement, base), 2)
    return [
      base === measurement ? measurement.scenario : '',
      measurement.server,
      spreadText(spreadOf(measurement.cpu), 0),
      base === measurement ? '1' : times,
    ]
  })
  const lines = [['scenario', 'server', 'CPU µs/operation', '× first row'], ...rows]
  const widths = [0, 1, 2, 3].map((column) => Math.max(...lines.map((cells) => cells[column]?.length ?? 0)))
  return lines
    .map((cells) =>
      cells
        .map((cell, column) => cell.padEnd(widths[column] as number))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

export const spreadText = ({ median, min, max }: Spread, digits: number) =>
  `${median.toFixed(digits)} (${min.toFixed(digits)}..${max.toFixed(digits)})`

export const comparisonsOf = (measurements: readonly Measurement[]): string[] =>
  comparisons.map((comparison) => {
    const { median, min, max } = compared(measurements, comparison)
    const percent = (times: number) => ((times - 1) * 100).toFixed(1)
    return comparison.say(`${percent(median)} % (${percent(min)}..${percent(max)})`)
  })

function compared(measurements: readonly Measurement[], { scenario, of, to }: Comparison): Spread {
  const find = (server: string) => {
    const found = measurements.find((other) => other.scenario === scenario && other.server === server)
    if (!found) throw new Error(`Nothing was measured for ${server} in ${scenario}`)
    return found
  }
  return ratio(find(of), find(to))
}

/** @returns the path of the file */
export const keep = (measurements: readonly Measurement[], rounds: number): string =>
  keepFigures('questions-', {
    rounds,
    measurements: measurements.map((measurement) => ({
      ...measurement,
      spread: spreadOf(measurement.cpu),
      timesFirstRow: ratio(measurement, baseOf(measurements, measurement)),
    })),
    comparisons: comparisons.map(({ scenario, of, to }) => ({
      scenario,
      of,
      to,
      times: compared(measurements, { scenario, of, to, say: String }),
    })),
  })

/**
 * Stores figures with the date and the machine of the measurement.
 *
 * @param name the prefix of the file name
 * @returns the path of the file
 */
export function keepFigures(name: string, figures: object): string {
  const folder = join(import.meta.dirname, 'results')
  const date = new Date().toISOString()
  const file = join(folder, `${name}${date.replaceAll(':', '-')}.json`)
  const processors = cpus()
  const kept = {
    date,
    machine: { processors: processors.length, model: processors[0]?.model },
    versions: { node: process.version, ...manifest.dependencies },
    ...figures,
  }
  mkdirSync(folder, { recursive: true })
  writeFileSync(file, `${JSON.stringify(kept, undefined, 2)}\n`)
  return file
}
