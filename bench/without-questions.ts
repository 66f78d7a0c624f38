/** Builds edgemcp without input requests, to measure what they cost calls that request no input. */
import { join } from 'node:path'
import type { Plugin } from 'esbuild'

const step = join(import.meta.dirname, 'servers/step-without-questions.ts')
/** The round of a call: its journal and its open input requests. */
const machinery = 'worker/engine/round.ts'

export const withoutQuestions: Plugin = {
  name: 'without-questions',
  setup(build) {
    build.initialOptions.metafile = true
    build.onResolve({ filter: /\/engine\/run\.ts$/ }, () => ({ path: step }))
    // After a refactoring, the build must not be compared with itself.
    build.onEnd(({ metafile }) => {
      const inputs = Object.keys(metafile?.inputs ?? {})
      const isReplaced = inputs.some((path) => path.endsWith('servers/step-without-questions.ts'))
      if (isReplaced && !inputs.includes(machinery)) return
      return { errors: [{ text: `The step of a call was not replaced, or ${machinery} is still needed` }] }
    })
  },
}
