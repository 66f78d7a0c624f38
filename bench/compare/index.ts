/** Compares edgemcp with a minimal server and with other libraries. */
import { bundleSizes } from './bundles.ts'
import { compare } from './measure.ts'
import { buildBefore, participants, startupRows } from './participants.ts'
import { choose, scenarios } from './scenarios.ts'
import { startups } from './startup.ts'
import { type Comparison, tablesOf } from './tables.ts'

export type Choice = {
  readonly rounds: number
  /** Keys of scenarios. Default: all. */
  readonly only?: readonly string[] | undefined
  readonly withPeers: boolean
  /** A folder with another commit of this repository, which is compared with this one. */
  readonly before?: string | undefined
}

/** How often each process is started. */
const starts = 7

/** @throws Error for a wrong response */
export async function compareAll(
  { rounds, only, withPeers, before }: Choice,
  report: (line: string) => void,
): Promise<{ figures: Comparison; tables: string }> {
  const chosen = choose(scenarios, only)
  const taking = [
    ...participants.filter(({ isPeer }) => withPeers || !isPeer),
    ...(before === undefined ? [] : [buildBefore(before)]),
  ]
  const measurements = await compare(chosen, taking, rounds, report)
  // Measurements outside of scenarios are skipped when scenarios are selected.
  const isWhole = only === undefined
  if (isWhole) report('bundles, start-up')
  const sizes = isWhole ? await bundleSizes(taking) : []
  const [first] = scenarios
  const started = isWhole && first ? await startups(taking, first, starts, startupRows) : []
  const figures = { measurements, sizes, startups: started }
  return { figures, tables: tablesOf(chosen, taking, figures) }
}
