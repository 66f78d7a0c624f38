/** Publishes the last comparison: figures.json, with which a test compares the pages, and docs/images/bench-*.svg. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Measurement } from './compare/measure.ts'
import { participants } from './compare/participants.ts'
import { type Comparison, published, timesOf } from './compare/tables.ts'

type Bar = { readonly name: string; readonly value: number; readonly label: string }
type Chart = { readonly file: string; readonly title: string; readonly note: string; readonly bars: readonly Bar[] }

const inMemory = new Set(participants.filter(({ keepsNothing }) => keepsNothing).map(({ name }) => name))

const results = join(import.meta.dirname, 'results')
const figuresFile = join(import.meta.dirname, 'figures.json')
const images = join(import.meta.dirname, '../docs/images')

/** @returns the paths of the files */
export function drawCharts(): string[] {
  const { date, ...figures } = lastComparison()
  // `npm run size` writes the sizes.
  const { sizes } = JSON.parse(readFileSync(figuresFile, 'utf8'))
  const written = { ...published(figures, date.slice(0, 10)), sizes }
  writeFileSync(figuresFile, `${JSON.stringify(written, undefined, 2)}\n`)
  mkdirSync(images, { recursive: true })
  return chartsOf(figures, date.slice(0, 10))
    .filter(({ bars }) => bars.length > 0)
    .map((chart) => {
      const file = join(images, `bench-${chart.file}.svg`)
      writeFileSync(file, svgOf(chart))
      return file
    })
}

function lastComparison(): Comparison & { date: string } {
  const files = readdirSync(results).filter((name) => name.startsWith('compare-'))
  // The names of the files are dates.
  for (const name of files.sort().reverse()) {
    const kept = JSON.parse(readFileSync(join(results, name), 'utf8')) as Comparison & { date: string }
    if (kept.sizes.length > 0) return kept
  }
  throw new Error('Nothing was compared as a whole yet: npm run bench')
}

function chartsOf({ measurements, sizes }: Comparison, date: string): Chart[] {
  const times = (scenario: string) => barsOf(measurements.filter((row) => row.scenario === scenario))
  const cpu = (floor: string) => `CPU time in workerd, × ${floor}, ${date}. Less is better.`
  const stateless = cpu('a Worker written by hand')
  return [
    { file: 'echo', title: 'A tool call', note: stateless, bars: times('echo') },
    { file: 'list', title: 'A list of 50 tools', note: stateless, bars: times('list50') },
    {
      file: 'create',
      title: 'A new session and its first call',
      note: `${cpu('a Durable Object by hand')} In memory: of one isolate.`,
      bars: times('create').map((bar) => ({
        ...bar,
        name: inMemory.has(bar.name) ? `${bar.name}, in memory` : bar.name,
      })),
    },
    {
      file: 'bundle',
      title: 'What there is to load',
      note: `Three tools without their schema library: KB after gzip, ${date}. Less is better.`,
      bars: sizes
        .filter(({ server }) => server !== 'floor')
        .map(({ server, bare }) => ({ name: server, value: bare / 1000, label: (bare / 1000).toFixed(1) })),
    },
  ]
}

function barsOf(rows: readonly Measurement[]): Bar[] {
  const [floor, ...others] = rows
  return others.map(({ server, cpu }) => {
    const { median: value } = timesOf(cpu, floor?.cpu ?? [])
    return { name: server, value, label: `× ${value.toFixed(1)}` }
  })
}

const width = 720
const left = 200
const right = 70
const row = 30
const top = 48

function svgOf({ title, note, bars }: Chart): string {
  const most = Math.max(...bars.map(({ value }) => value))
  const sorted = bars.toSorted((a, b) => a.value - b.value)
  const height = top + sorted.length * row + 34
  const drawn = sorted.map(({ name, value, label }, index) => {
    const y = top + index * row
    const length = Math.max(2, (value / most) * (width - left - right))
    const kind = name === 'edgemcp' ? 'ours' : 'theirs'
    return [
      `  <text class="name ${kind}" x="${left - 10}" y="${y + 16}" text-anchor="end">${escaped(name)}</text>`,
      `  <rect class="${kind}" x="${left}" y="${y + 2}" width="${length.toFixed(1)}" height="20" rx="3"/>`,
      `  <text class="value" x="${(left + length + 8).toFixed(1)}" y="${y + 16}">${escaped(label)}</text>`,
    ].join('\n')
  })
  const spoken = sorted.map(({ name, label }) => `${name} ${label}`).join(', ')
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
  <title>${escaped(`${title}: ${spoken}`)}</title>
  <style>
    text { font: 14px system-ui, sans-serif; fill: #1f2328 }
    .title { font-size: 17px; font-weight: 600 }
    .note { font-size: 12px; fill: #59636e }
    text.ours { font-weight: 600 }
    rect.ours { fill: #e5640c }
    rect.theirs { fill: #afb8c1 }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3 }
      .note { fill: #9198a1 }
      rect.ours { fill: #f6821f }
      rect.theirs { fill: #57606a }
    }
  </style>
  <text class="title" x="10" y="26">${escaped(title)}</text>
${drawn.join('\n')}
  <text class="note" x="10" y="${height - 12}">${escaped(note)}</text>
</svg>
`
}

const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
