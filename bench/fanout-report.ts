/** The measurements of subscriptions, as tables. */
import type { Fanout, Figures } from './fanout.ts'
import { spreadOf, spreadText } from './report.ts'

const number = (value: number) => Math.round(value).toLocaleString('en')

/** Compared round by round, because the load of the machine during a round was the same for both. */
export const times = (of: readonly number[], to: readonly number[]) =>
  spreadOf(of.map((value, round) => value / (to[round] as number)))

const median = (values: readonly number[]) => spreadOf(values).median

/** All tables as Markdown. */
export function fanoutTables({ sizes, others, slow, asleep, keepAlive }: Figures): string {
  const [first] = sizes as [Fanout]
  const [alone, among] = others as [Fanout, Fanout]
  const [baseline] = slow as [Fanout]
  const [rested, restedAmong] = asleep as [Fanout, Fanout]
  return [
    '### Sizes',
    table(
      [
        'listeners',
        '',
        'answered, ms',
        'first, ms',
        'median, ms',
        'last, ms',
        'events/s',
        'CPU µs/event',
        '× first row',
        'KiB/listener',
      ],
      sizes.map((row) => [
        number(row.listeners),
        row.name,
        number(median(row.answered)),
        number(median(row.first)),
        number(median(row.median)),
        number(median(row.last)),
        number((row.listeners * 1000) / median(row.last)),
        spreadText(spreadOf(row.cpu), 0),
        row === first ? '1' : spreadText(times(row.cpu, first.cpu), 2),
        number(row.memory / 1024),
      ]),
    ),
    '### Listeners of other URIs',
    table(
      ['', 'first, ms', 'last, ms', 'CPU µs/publication', '× first row'],
      [alone, among].map((row) => [
        row.name,
        median(row.first).toFixed(1),
        median(row.last).toFixed(1),
        spreadText(spreadOf(row.cpu.map((each) => each * row.listeners)), 0),
        row === alone ? '1' : spreadText(times(row.cpu, alone.cpu), 2),
      ]),
    ),
    '### Listeners that never read',
    table(
      ['', 'median, ms', 'last, ms', 'median × first row', 'last × first row'],
      slow.map((row) => [
        row.name,
        median(row.median).toFixed(1),
        median(row.last).toFixed(1),
        row === baseline ? '1' : spreadText(times(row.median, baseline.median), 2),
        row === baseline ? '1' : spreadText(times(row.last, baseline.last), 2),
      ]),
    ),
    '### The first publication after the object was evicted',
    table(
      ['', 'first, ms', 'last, ms', 'CPU µs/publication'],
      [rested, restedAmong].map((row) => [
        row.name,
        median(row.first).toFixed(1),
        median(row.last).toFixed(1),
        spreadText(spreadOf(row.cpu.map((each) => each * row.listeners)), 0),
      ]),
    ),
    ...keepAlive.map(
      ({ listeners, interval, cpu }) =>
        `${number(listeners)} quiet streams, a comment every ${interval / 1000} s: ` +
        `${spreadText(spreadOf(cpu), 0)} µs of CPU for each stream and comment.`,
    ),
  ].join('\n\n')
}

function table(head: readonly string[], rows: readonly string[][]): string {
  const line = (cells: readonly string[]) => `|${cells.map((cell) => (cell === '' ? ' ' : ` ${cell} `)).join('|')}|`
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n')
}
