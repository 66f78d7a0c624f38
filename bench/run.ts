/**
 * Measures the CPU time that servers need for one operation, and prints how they compare. `--rounds <n>`: how often
 * everything is measured, 5 when left out. Exits with 1 when an answer is wrong. See README.md.
 */
import { relative } from 'node:path'
import { parseArgs } from 'node:util'
import { install } from './install.ts'

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '5' } } })
const rounds = Number(values.rounds)
if (!Number.isInteger(rounds) || rounds < 1) throw new Error('--rounds must be a number from 1')
if (process.platform !== 'linux') throw new Error('CPU times are read from /proc, which only Linux has')

// Whatever ends this, what it started ends with it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

install()
// These need what has just been installed.
const { measure } = await import('./measure.ts')
const { comparisonsOf, keep, tableOf } = await import('./report.ts')

const measurements = await measure(rounds)
console.log(tableOf(measurements))
console.log(['', ...comparisonsOf(measurements)].join('\n'))
console.log(`\n${relative(process.cwd(), keep(measurements, rounds))}`)
