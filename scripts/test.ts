/**
 * Runs everything that `npm test` consists of. Steps of one stage run at the same time. The first step of a stage prints as
 * it runs; the output of each other step follows as a whole, in order. The script stops after a stage in which a step fails.
 *
 * Arguments go to vitest: `npm test -- --sequence.shuffle.files`.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** Names of scripts in package.json. */
const stages = [
  // The compiler uses one core. With all of them it checks types that its threads share more than once.
  ['check:types', 'check:style', 'size', 'casts', 'bundles'],
  // They wait for servers, streams and deadlines for a part of their time.
  ['test:node', 'test:workerd', 'conformance'],
  // Compares CPU times, so no other step runs.
  ['budgets'],
]

// The compiler and esbuild collect garbage for up to a third of their processor time by default.
process.env.GOGC ??= '400'
// What prints to a pipe has no colors by default.
if (process.stdout.isTTY) process.env.FORCE_COLOR ??= '1'

type Ended = {
  readonly step: string
  readonly output: string
  readonly isPrinted: boolean
  readonly hasFailed: boolean
}

/** Lines of the output of a failed step that are printed again, so that the last lines of a log say what has failed. */
const endLines = 100

for (const stage of stages) {
  const failed: Ended[] = []
  for (const running of stage.map(runStep)) {
    const ended = await running
    if (!ended.isPrinted) process.stdout.write(ended.output)
    if (ended.hasFailed) failed.push(ended)
  }
  if (failed.length > 0) {
    for (const { step, output } of failed) {
      console.error(`\nThe end of npm run ${step}:\n${output.trimEnd().split('\n').slice(-endLines).join('\n')}`)
    }
    console.error(`Failed: ${failed.map(({ step }) => `npm run ${step}`).join(', ')}`)
    process.exitCode = 1
    break
  }
}

async function runStep(step: string, index: number): Promise<Ended> {
  const options = step.startsWith('test:') ? ['--', ...process.argv.slice(2)] : []
  const isPrinted = index === 0
  const child = spawn('npm', ['run', step, ...options], { stdio: ['ignore', 'pipe', 'pipe'] })
  const chunks: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      if (isPrinted) process.stdout.write(chunk)
    })
  }
  const [exitCode] = await once(child, 'close')
  return { step, output: Buffer.concat(chunks).toString(), isPrinted, hasFailed: exitCode !== 0 }
}
