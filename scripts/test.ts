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

type Ended = { readonly step: string; readonly output: string; readonly hasFailed: boolean }

for (const stage of stages) {
  const failed: string[] = []
  for (const running of stage.map(runStep)) {
    const { step, output, hasFailed } = await running
    process.stdout.write(output)
    if (hasFailed) failed.push(step)
  }
  if (failed.length > 0) {
    console.error(`Failed: ${failed.map((step) => `npm run ${step}`).join(', ')}`)
    process.exitCode = 1
    break
  }
}

async function runStep(step: string, index: number): Promise<Ended> {
  const output = index === 0 ? 'inherit' : 'pipe'
  const options = step.startsWith('test:') ? ['--', ...process.argv.slice(2)] : []
  const child = spawn('npm', ['run', step, ...options], { stdio: ['ignore', output, output] })
  const chunks: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => chunks.push(chunk))
  const [exitCode] = await once(child, 'close')
  return { step, output: Buffer.concat(chunks).toString(), hasFailed: exitCode !== 0 }
}
