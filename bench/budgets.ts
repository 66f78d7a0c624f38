/**
 * Fails when the CPU time of a call or of the start exceeds its budget, as a multiple of that of a minimal server.
 * The best of a few rounds counts, so that other work of the machine does not fail the check: the first round within the
 * budget is the last. `npm run bench` measures the actual speed. Needs no packages other than those of the tests.
 */
import { compare } from './compare/measure.ts'
import { participants } from './compare/participants.ts'
import { scenarios } from './compare/scenarios.ts'
import { emptyName, type Startup, startups } from './compare/startup.ts'

/** Multiples of the CPU time of the minimal server, or of an empty Worker. */
const budgets = { echo: 2, sessions: 2, list50: 1.75, start: 2.5 } as const

const rounds = 5

if (process.platform !== 'linux') {
  console.log('No budgets: CPU times are read from /proc, which only Linux has')
  process.exit()
}

const taking = participants.filter(({ isPeer }) => !isPeer)
const chosen = scenarios.filter(({ key }) => key in budgets)
for (const scenario of chosen) {
  const budget = budgets[scenario.key as keyof typeof budgets]
  const times = ([floor, ours]: readonly { readonly cpu: readonly number[] }[]) => best(ours?.cpu, floor?.cpu)
  const isHeld = (measured: Parameters<typeof times>[0]) => times(measured) <= budget
  hold(scenario.name, times(await compare([scenario], taking, rounds, () => {}, isHeld)), budget, 'the floor')
}
const [first] = scenarios
if (first) {
  const times = (started: readonly Startup[]) => {
    const cpuOf = (name: string) => started.find(({ server }) => server === name)?.cpu
    return best(cpuOf('edgemcp'), cpuOf(emptyName))
  }
  const isHeld = (started: readonly Startup[]) => times(started) <= budgets.start
  const started = await startups(taking, first, rounds, [], isHeld)
  hold('from the start to the first answer', times(started), budgets.start, emptyName)
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
