/** The lines of durable-objects/ that schedules reach. */
import { Session } from 'node:inspector/promises'
import { SourceMap, type SourceMapPayload } from 'node:module'
import type { Bundle } from './platform/bundle.ts'

type Range = { readonly startOffset: number; readonly endOffset: number; readonly count: number }

/** Lines of a file that can run, and those that ran. */
export type Covered = { readonly all: ReadonlySet<number>; readonly reached: ReadonlySet<number> }

/**
 * Runs schedules, and returns the lines of each file that they reach.
 *
 * @param run bundles servers, and returns those that it has run
 * @param isCounted whether a file is of interest, by its path from the root
 */
export async function coverageOf(
  run: () => Promise<Iterable<Bundle>>,
  isCounted: (path: string) => boolean,
): Promise<ReadonlyMap<string, Covered>> {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  const bundles = await run()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  session.disconnect()
  const found: Found = new Map()
  for (const bundle of bundles) {
    const script = result.find(({ url }) => url.endsWith(bundle.file))
    const ranges = (script?.functions ?? []).flatMap((one) => one.ranges)
    addLines(found, bundle, ranges, isCounted)
  }
  return found
}

type Found = Map<string, { all: Set<number>; reached: Set<number> }>

function addLines(
  found: Found,
  { code, prefixLength }: Bundle,
  ranges: readonly Range[],
  isCounted: (path: string) => boolean,
): void {
  const counts = new Int32Array(code.length).fill(1)
  // Inner ranges replace the counts of outer ones.
  const outermostFirst = ranges.toSorted((a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset)
  for (const { startOffset, endOffset, count } of outermostFirst) {
    counts.fill(count, Math.max(0, startOffset - prefixLength), Math.max(0, endOffset - prefixLength))
  }
  const encoded = /sourceMappingURL=data:application\/json;base64,(\S+)/.exec(code)?.[1] ?? ''
  // What esbuild wrote.
  const payload: SourceMapPayload = JSON.parse(Buffer.from(encoded, 'base64').toString())
  const map = new SourceMap(payload)
  let offset = 0
  for (const [line, text] of code.split('\n').entries()) {
    // The beginnings of the statements and expressions of a line.
    for (const { index } of text.matchAll(/[\w$"'`([{!]+/g)) {
      const entry = map.findEntry(line, index)
      if (!('originalSource' in entry)) continue
      const path = entry.originalSource.replace(/^(?:\.\.\/)+/, '')
      if (!isCounted(path)) continue
      const lines = found.get(path) ?? { all: new Set(), reached: new Set() }
      found.set(path, lines)
      lines.all.add(entry.originalLine)
      if ((counts[offset + index] ?? 0) > 0) lines.reached.add(entry.originalLine)
    }
    offset += text.length + 1
  }
}
