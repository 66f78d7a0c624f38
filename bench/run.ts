/**
 * Measures the CPU time of servers for one operation, and prints how edgemcp compares with a minimal server
 * and with other libraries; with `questions`, how two builds of edgemcp compare; with `fanout`, the delivery of changes to
 * thousands of subscribers; with `auth`, the cost of authentication; with `streams`, the cost of a session's
 * stream and the speed of its replay; with `pauses`, calls that send events while they run; with `cost`,
 * what servers with sessions would be billed for; with `tasks`, the cost of thousands of tasks; with `scale`, how costs grow with
 * sessions, tools, events and sizes; with `profile <server> <scenario>`, a CPU profile.
 * `charts` draws the last comparison.
 *
 * `--rounds <n>`: the number of rounds, 5 by default. `--only <keys>`: the scenarios, or the curves of `scale`.
 * `--peers none`: no other libraries. Exits with 1 for a wrong response. See README.md.
 */
import { relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { install } from './install.ts'

const { values, positionals } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    only: { type: 'string' },
    peers: { type: 'string', default: 'all' },
    before: { type: 'string' },
  },
  allowPositionals: true,
})
const [what, ...more] = positionals
if (
  ![
    'questions',
    'fanout',
    'auth',
    'profile',
    'streams',
    'pauses',
    'cost',
    'tasks',
    'scale',
    'charts',
    undefined,
  ].includes(what)
) {
  throw new Error(
    'There is nothing to run but questions, fanout, auth, streams, pauses, cost, tasks, scale, profile and charts',
  )
}
if (more.length !== (what === 'profile' ? 2 : 0)) {
  throw new Error(what === 'profile' ? 'Say what to profile: profile edgemcp echo' : `There is no more to say: ${more}`)
}
const rounds = Number(values.rounds)
if (!Number.isInteger(rounds) || rounds < 1) throw new Error('--rounds must be a number from 1')
if (!['all', 'none'].includes(values.peers)) throw new Error('--peers must be all or none')
if (process.platform !== 'linux') throw new Error('CPU times are read from /proc, which only Linux has')

const choice = {
  rounds,
  only: values.only?.split(','),
  withPeers: values.peers === 'all',
  before: values.before === undefined ? undefined : resolve(values.before),
}

// All child processes end with this one.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

install()
// These imports need the packages that were just installed.
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
} else if (what === 'questions') {
  const { measure } = await import('./measure.ts')
  const { comparisonsOf, keep, tableOf } = await import('./report.ts')
  const measurements = await measure(rounds)
  console.log(tableOf(measurements))
  console.log(['', ...comparisonsOf(measurements)].join('\n'))
  told(keep(measurements, rounds))
} else if (what === 'streams') {
  const { measureStreams, streamsTable } = await import('./streams.ts')
  const { keepFigures } = await import('./report.ts')
  const figures = await measureStreams(rounds)
  console.log(streamsTable(figures))
  told(keepFigures('streams-', { rounds, figures }))
} else if (what === 'pauses') {
  const { measurePauses, pausesTables } = await import('./pauses.ts')
  const { keepFigures } = await import('./report.ts')
  const figures = await measurePauses(choice, (line) => console.error(line))
  console.log(pausesTables(figures))
  told(keepFigures('pauses-', { rounds, ...figures }))
} else if (what === 'cost') {
  const { billsTable, measureBills } = await import('./billing.ts')
  console.log(billsTable(await measureBills()))
} else if (what === 'tasks') {
  const { measureTasks, tasksTable } = await import('./tasks.ts')
  console.log(tasksTable(await measureTasks()))
} else if (what === 'scale') {
  const { measureScale } = await import('./scale.ts')
  const { keepFigures } = await import('./report.ts')
  const { measurements, tables } = await measureScale(choice, (line) => console.error(line))
  console.log(tables)
  told(keepFigures('scale-', { rounds, measurements }))
} else if (what === 'profile') {
  const { profile } = await import('./profile.ts')
  console.log(await profile(...(more as [string, string])))
} else if (what === 'charts') {
  const { drawCharts } = await import('./charts.ts')
  for (const file of drawCharts()) told(file)
} else {
  const { compareAll } = await import('./compare/index.ts')
  const { keepFigures } = await import('./report.ts')
  const { figures, tables } = await compareAll(choice, (line) => console.error(line))
  console.log(tables)
  told(keepFigures('compare-', { rounds, ...figures }))
}
// Open connections would keep this process running.
process.exit()

function told(file: string): void {
  console.log(`\n${relative(process.cwd(), file)}`)
}
