/** Builds edgemcp without what it takes to ask questions, so that one can see what that costs those who never ask. */
import { join } from 'node:path'
import type { Plugin } from 'esbuild'

const step = join(import.meta.dirname, 'servers/step-without-questions.ts')
/** Where a round of a call lives: what the handler learned, what it asks, what it waits for. */
const machinery = 'worker/engine/round.ts'

export const withoutQuestions: Plugin = {
  name: 'without-questions',
  setup(build) {
    build.initialOptions.metafile = true
    build.onResolve({ filter: /\/engine\/run\.ts$/ }, () => ({ path: step }))
    // A library that was rearranged must not be measured against itself.
    build.onEnd(({ metafile }) => {
      const inputs = Object.keys(metafile?.inputs ?? {})
      const isReplaced = inputs.some((path) => path.endsWith('servers/step-without-questions.ts'))
      if (isReplaced && !inputs.includes(machinery)) return
      return { errors: [{ text: `The step of a call was not replaced, or ${machinery} is still needed` }] }
    })
  },
}
