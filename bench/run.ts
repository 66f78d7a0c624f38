/**
 * Measures the CPU time that servers need for one operation, and prints how they compare; with `fanout`, how a change
 * reaches thousands of listeners; with `auth`, what it costs to know who calls. `--rounds <n>`: how often everything is
 * measured, 5 when left out. Exits with 1 when an answer is wrong. See README.md.
 */
import { relative } from 'node:path'
import { parseArgs } from 'node:util'
import { install } from './install.ts'

const { values, positionals } = parseArgs({
  options: { rounds: { type: 'string', default: '5' } },
  allowPositionals: true,
})
const [what, ...more] = positionals
if (!['fanout', 'auth', undefined].includes(what) || more.length > 0) {
  throw new Error('There is nothing to run but fanout and auth')
}
const rounds = Number(values.rounds)
if (!Number.isInteger(rounds) || rounds < 1) throw new Error('--rounds must be a number from 1')
if (process.platform !== 'linux') throw new Error('CPU times are read from /proc, which only Linux has')

// Whatever ends this, what it started ends with it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

install()
// What is imported here needs what has just been installed.
if (what === 'fanout') {
  const { measureFanout } = await import('./fanout.ts')
  const { fanoutTables } = await import('./fanout-report.ts')
  const { keepFigures } = await import('./report.ts')
  const figures = await measureFanout(rounds)
  console.log(fanoutTables(figures))
  told(keepFigures('fanout-', { rounds, ...figures }))
} else if (what === 'auth') {
  const { measureAuth } = await import('./auth.ts')
  const { authReport } = await import('./auth-report.ts')
  const { keepFigures } = await import('./report.ts')
  const measurements = await measureAuth(rounds)
  console.log(authReport(measurements))
  told(keepFigures('auth-', { rounds, measurements }))
} else {
  const { measure } = await import('./measure.ts')
  const { comparisonsOf, keep, tableOf } = await import('./report.ts')
  const measurements = await measure(rounds)
  console.log(tableOf(measurements))
  console.log(['', ...comparisonsOf(measurements)].join('\n'))
  told(keep(measurements, rounds))
}
// Connections that are kept would keep this as well.
process.exit()

function told(file: string): void {
  console.log(`\n${relative(process.cwd(), file)}`)
}
