/**
 * Fails when the CPU time of a call or of the start exceeds its budget, as a multiple of that of a minimal server.
 * The best of a few rounds counts, so that other work of the machine does not fail the check. `npm run bench` measures the
 * actual speed. Needs no packages other than those of the tests.
 */
import { compare } from './compare/measure.ts'
import { participants } from './compare/participants.ts'
import { scenarios } from './compare/scenarios.ts'
import { emptyName, startups } from './compare/startup.ts'

/** Multiples of the CPU time of the minimal server, or of an empty Worker. */
const budgets = { echo: 2, sessions: 2, list50: 1.75, start: 2.5 } as const

const rounds = 5

if (process.platform !== 'linux') {
  console.log('No budgets: CPU times are read from /proc, which only Linux has')
  process.exit()
}

const taking = participants.filter(({ isPeer }) => !isPeer)
const chosen = scenarios.filter(({ key }) => key in budgets)
const measurements = await compare(chosen, taking, rounds, () => {})
for (const { key, name } of chosen) {
  const [floor, ours] = measurements.filter(({ scenario }) => scenario === key)
  hold(name, best(ours?.cpu, floor?.cpu), budgets[key as keyof typeof budgets], 'the floor')
}
const [first] = scenarios
if (first) {
  const started = await startups(taking, first, rounds)
  const cpuOf = (name: string) => started.find(({ server }) => server === name)?.cpu
  hold('from the start to the first answer', best(cpuOf('edgemcp'), cpuOf(emptyName)), budgets.start, emptyName)
}
// Open connections would keep this process running.
process.exit()

function best(of: readonly number[] = [], to: readonly number[] = []): number {
  return Math.min(...of.map((value, round) => value / (to[round] as number)))
}

function hold(what: string, times: number, budget: number, base: string): void {
  const isOver = !(times <= budget)
  console.log(`${what.padEnd(38)}${times.toFixed(2)} × ${base}  ${isOver ? 'OVER the budget of' : 'of'} ${budget}`)
  if (isOver) process.exitCode = 1
}
