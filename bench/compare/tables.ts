/** The comparison as Markdown. */
import manifest from '../package.json' with { type: 'json' }
import { type Spread, spreadOf, spreadText } from '../report.ts'
import type { Size } from './bundles.ts'
import { concurrency, type Measurement } from './measure.ts'
import type { Participant } from './participants.ts'
import type { Scenario } from './scenarios.ts'
import { emptyName, type Startup } from './startup.ts'

export type Comparison = {
  readonly measurements: readonly Measurement[]
  readonly sizes: readonly Size[]
  readonly startups: readonly Startup[]
}

/** Compared round by round, because the load of the machine during a round was the same for both. */
export const timesOf = (of: readonly number[], to: readonly number[]): Spread =>
  spreadOf(of.map((value, round) => value / (to[round] as number)))

export function tablesOf(
  scenarios: readonly Scenario[],
  participants: readonly Participant[],
  { measurements, sizes, startups }: Comparison,
): string {
  const footnotes = new Footnotes()
  const measured = (scenario: Scenario, { name }: Participant) =>
    measurements.find((row) => row.scenario === scenario.key && row.server === name)
  const floorOf = ({ key }: Scenario) => measurements.find((row) => row.scenario === key) as Measurement
  const absent = (scenario: Scenario, { name, cannot }: Participant) => {
    const reason = cannot?.[scenario.key]
    return `–${reason ? footnotes.mark(`${name} ${reason}.`) : ''}`
  }
  const headed = participants.map(({ name, note }) => `${name}${note ? footnotes.mark(`${name}: ${note}.`) : ''}`)

  const cpu = [
    ['', ...headed],
    ['spoken to in', ...participants.map(revisionsOf)],
    ...scenarios.map((scenario) => [
      scenario.name,
      ...participants.map((participant) => {
        const row = measured(scenario, participant)
        if (!row) return absent(scenario, participant)
        const floor = floorOf(scenario)
        if (row === floor) return `${spreadText(spreadOf(row.cpu), 0)} µs`
        return spreadText(timesOf(row.cpu, floor.cpu), 2)
      }),
    ]),
  ]
  const notes = footnotes.toString()
  const latency = [
    ['', ...participants.map(({ name }) => name)],
    ...scenarios.map((scenario) => [
      scenario.name,
      ...participants.map((participant) => {
        const row = measured(scenario, participant)
        return row ? `${row.latency.p50.toFixed(1)} / ${row.latency.p99.toFixed(1)}` : '–'
      }),
    ]),
  ]
  const kilobytes = (bytes: number) => (bytes / 1000).toFixed(1)
  const loaded = [
    ['', 'without schema libraries, KB', 'with them, KB'],
    ...sizes.map(({ server, bare, whole }) => [server, kilobytes(bare), kilobytes(whole)]),
  ]
  const emptyCpu = startups.find(({ server }) => server === emptyName)?.cpu ?? []
  const started = [
    ['', 'CPU ms', `× ${emptyName}`],
    ...startups.map(({ server, cpu: spent }) => [
      server,
      spreadText(spreadOf(spent), 0),
      server === emptyName ? '1' : spreadText(timesOf(spent, emptyCpu), 2),
    ]),
  ]
  return [
    '### CPU time of an operation: × floor',
    markdown(cpu),
    notes,
    `### Milliseconds until an operation is done, ${concurrency} at a time: p50 / p99`,
    markdown(latency),
    ...(sizes.length > 0 ? ['### Bundle with three tools, minified and compressed by gzip', markdown(loaded)] : []),
    ...(startups.length > 0 ? ['### From the start of the process to the first answer', markdown(started)] : []),
    `Versions: ${versionsOf(participants)}workerd ${manifest.dependencies.workerd}.`,
  ].join('\n\n')
}

/** What the pages of the repository print of a comparison: the texts of the tables, by scenario and server. */
export function published({ measurements, sizes, startups }: Comparison, date: string) {
  const cpu: Record<string, Record<string, string>> = {}
  for (const { scenario, server, cpu: spent } of measurements) {
    const floor = measurements.find((row) => row.scenario === scenario)?.cpu ?? []
    const text = spent === floor ? `${spreadText(spreadOf(spent), 0)} µs` : spreadText(timesOf(spent, floor), 2)
    cpu[scenario] = { ...cpu[scenario], [server]: text }
  }
  const empty = startups.find(({ server }) => server === emptyName)?.cpu ?? []
  const startup = startups.map(({ server, cpu: spent }) => [server, spreadText(timesOf(spent, empty), 2)])
  const kilobytes = sizes.map(({ server, bare, whole }) => [
    server,
    { bare: Math.round(bare / 100) / 10, whole: Math.round(whole / 100) / 10 },
  ])
  return {
    comparison: { date, cpu, startup: Object.fromEntries(startup) },
    bundles: { date, kilobytes: Object.fromEntries(kilobytes) },
  }
}

function revisionsOf({ stateless, session }: Participant): string {
  const [alone, kept] = [stateless?.way.revision, session?.way.revision]
  if (alone === kept || kept === undefined) return alone ?? ''
  return [alone, `${kept} with sessions`].filter((revision) => revision !== undefined).join(', ')
}

const peers = ['mcp-lite', 'tmcp', '@tmcp/transport-http', '@modelcontextprotocol/server', 'agents'] as const

const versionsOf = (participants: readonly Participant[]) =>
  participants.some(({ isPeer }) => isPeer)
    ? peers.map((name) => `${name} ${manifest.dependencies[name]}, `).join('')
    : ''

/** Each footnote once, however many cells refer to it. */
class Footnotes {
  readonly #sentences: string[] = []

  mark(sentence: string): string {
    if (!this.#sentences.includes(sentence)) this.#sentences.push(sentence)
    return ` <sup>${this.#sentences.indexOf(sentence) + 1}</sup>`
  }

  toString(): string {
    return this.#sentences.map((sentence, index) => `${index + 1}. ${sentence}`).join('\n')
  }
}

function markdown(rows: readonly (readonly string[])[]): string {
  const columns = rows[0]?.length ?? 0
  const widths = Array.from({ length: columns }, (_, at) => Math.max(3, ...rows.map((row) => row[at]?.length ?? 0)))
  const line = (cells: readonly string[]) => `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`
  const [head = [], ...body] = rows
  return [line(head), `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...body.map(line)].join('\n')
}
