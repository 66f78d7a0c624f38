/**
 * Runs schedules of the simulation, each with the next seed: `npm run simulate -- --seconds 600`.
 *
 * `--from <seed>` starts elsewhere; `--faults <count>` is the most of a schedule; `--clients calls,tasks` chooses clients of one server, and
 * `--kinds crash,cut` faults.
 * `--coverage <count>` runs so many, and prints which lines of durable-objects/ they reach.
 * `--seed <seed>` runs one; `--keep 0,2` with these of its faults only, `--trace` prints what happened. `--plant <name>` runs with a
 * planted defect. `--beside <commit>` deploys an older edgemcp, too: alone, and side by side with this one. Exits with 1 for a violation.
 * `--help` prints this.
 */
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { coverageOf } from '../test/simulation/coverage.ts'
import { type FaultKind, faultKinds } from '../test/simulation/faults.ts'
import { plantedDefect } from '../test/simulation/planted.ts'
import { type BundledServer, Servers } from '../test/simulation/servers.ts'
import { repeatCommand, shrinkFaults, simulate } from '../test/simulation/simulate.ts'
import { sourceOf } from './source-of.ts'

process.env.NODE_ENV = 'test'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    keep: { type: 'string' },
    faults: { type: 'string', default: '8' },
    clients: { type: 'string' },
    kinds: { type: 'string' },
    plant: { type: 'string' },
    beside: { type: 'string' },
    trace: { type: 'boolean', default: false },
    ungated: { type: 'boolean', default: false },
    coverage: { type: 'string' },
    help: { type: 'boolean', short: 'h', default: false },
  },
})
if (values.help) {
  // The comment at the start of this file.
  const [, usage = ''] = /\/\*\*\n(.*?)\n \*\//s.exec(readFileSync(import.meta.filename, 'utf8')) ?? []
  console.log(usage.replaceAll(/^ \* ?/gm, ''))
  process.exit()
}

const isKind = (name: string): name is FaultKind => faultKinds.some((kind) => kind === name)
const kinds = values.kinds?.split(',')
const unknown = kinds?.find((name) => !isKind(name))
if (unknown !== undefined) throw new Error(`There is no fault "${unknown}": choose from ${faultKinds.join(', ')}`)

const replacements = values.plant === undefined ? [] : [plantedDefect(values.plant)]
const older = values.beside === undefined ? undefined : sourceOf(values.beside)
const servers = new Servers(replacements, older)
const clients = values.clients?.split(',')
const settings = {
  mostFaults: Number(values.faults),
  isUngated: values.ungated,
  ...(kinds && { faultKinds: kinds.filter(isKind) }),
  ...(clients && { clients }),
}

if (values.coverage !== undefined) await printCoverage(Number(values.coverage))
else if (values.seed === undefined) await runMany()
else await runOne(Number(values.seed))

async function printCoverage(schedules: number): Promise<void> {
  const run = async () => {
    const used = new Set<BundledServer>()
    for (let seed = 1; seed <= schedules; seed += 1) {
      const server = await servers.of(seed, clients)
      await simulate(server, seed, settings)
      used.add(server)
    }
    return used
  }
  const files = await coverageOf(run, (path) => path.startsWith('durable-objects/'))
  let [all, reached] = [0, 0]
  const percent = (part: number, whole: number) => `${((100 * part) / whole).toFixed(1)} % of ${whole} lines`
  for (const [path, lines] of [...files].sort(([one], [other]) => one.localeCompare(other))) {
    const missed = [...lines.all].filter((line) => !lines.reached.has(line)).sort((one, other) => one - other)
    const where = missed.length > 0 ? `, without ${missed.map((line) => line + 1).join(' ')}` : ''
    console.log(`${path}: ${percent(lines.reached.size, lines.all.size)}${where}`.slice(0, 200))
    all += lines.all.size
    reached += lines.reached.size
  }
  console.log(`durable-objects/: ${percent(reached, all)}`)
}

async function runOne(seed: number): Promise<void> {
  const server = await servers.of(seed, clients)
  const all = await simulate(server, seed, settings)
  const kept = values.keep?.split(',').filter(Boolean).map(Number)
  const plan = kept ? all.faults.filter((_, index) => kept.includes(index)) : all.faults
  const { violation, trace, logs, faults, digest } = await simulate(server, seed, {
    ...settings,
    plan,
    keepsTrace: true,
  })
  if (values.trace) for (const line of trace) console.log(line.replaceAll('\n', '\\n').slice(0, 240))
  for (const log of logs) console.log(`logged: ${log}`)
  for (const [index, { at, kind, target }] of faults.entries())
    console.log(`fault ${index}: ${kind} ${target} after event ${at}`)
  console.log(`seed ${seed}, trace ${digest}: ${violation?.message ?? 'nothing was violated'}`)
  process.exitCode = violation ? 1 : 0
}

async function runMany(): Promise<void> {
  const started = performance.now()
  const processor = process.cpuUsage()
  const found = new Map<string, number[]>()
  const counts = { schedules: 0, events: 0, faults: 0 }
  for (let seed = Number(values.from); performance.now() - started < Number(values.seconds) * 1000; seed += 1) {
    const server = await servers.of(seed, clients)
    const outcome = await simulate(server, seed, settings)
    counts.schedules += 1
    counts.events += outcome.events
    counts.faults += outcome.faults.length
    if (!outcome.violation) continue
    const [message = ''] = outcome.violation.message.split('\n')
    const what = message.replaceAll(/\d+/g, 'N').slice(0, 160)
    const before = found.get(what) ?? []
    found.set(what, [...before, seed])
    if (before.length > 0) continue
    const faults = await shrinkFaults(server, outcome, settings)
    const beside = values.beside === undefined ? '' : ` --beside ${values.beside}`
    console.log(`${message}\n  ${repeatCommand(outcome, faults)}${beside}`)
  }
  const { user, system } = process.cpuUsage(processor)
  const perSchedule = (user + system) / 1000 / counts.schedules
  const { schedules, events, faults } = counts
  console.log(
    `${schedules} schedules, ${events} events, ${faults} faults; ${perSchedule.toFixed(1)} ms of processor time for each`,
  )
  for (const [what, seeds] of found) console.log(`${seeds.length} × ${what}: seeds ${seeds.slice(0, 10).join(', ')}`)
  process.exitCode = found.size > 0 ? 1 : 0
}
