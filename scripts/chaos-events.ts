/**
 * Kills workerd again and again while users receive events: `npm run chaos -- events --principals 1000 --minutes 10`. `--plant <name>` runs
 * with a planted defect of the simulation. Exits with 1 when an event is lost, comes too early, or reaches somebody else.
 */
import { parseArgs } from 'node:util'
import { runCrash } from '../test/events/crash/run.ts'
import { plantedDefect } from '../test/simulation/planted.ts'

const { values } = parseArgs({
  allowPositionals: true,
  options: {
    principals: { type: 'string', default: '1000' },
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: '1' },
    plant: { type: 'string' },
  },
})
try {
  const figures = await runCrash({
    principals: Number(values.principals),
    // Receivers of thousands of subscriptions are one process here.
    timeoutMs: 30_000,
    seconds: Number(values.minutes) * 60,
    drainSeconds: 600,
    seed: Number(values.seed),
    defects: values.plant === undefined ? [] : [plantedDefect(values.plant)],
    print: (line) => console.log(line),
  })
  console.log(figures)
} catch (problem) {
  console.log(problem)
  process.exitCode = 1
}
