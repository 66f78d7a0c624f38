import { newReceived, type Received } from '../../../client/received.ts'
import { McpError } from '../../../protocol/errors.ts'
import type { Params } from '../../../protocol/types.ts'
import { type ListMember, maxEntryCharacters, readEntry } from './check-entries.ts'

/** Pages of a list that are read. */
export const mostPages = 20

/** Entries of a list that are read. The URI of each resource is matched against every template. */
export const maxEntries = { tools: 10_000, prompts: 10_000, resources: 10_000, resourceTemplates: 1_000 }

/** Bytes of all pages of a list that are read: each request for a list reads and checks them again. */
const maxListBytes = 2 * 1024 * 1024

type Pages = {
  readonly entries: Params[]
  /** Why entries are left out. */
  readonly invalid: string[]
  /** Whether every page that was requested was read. */
  readonly isComplete: boolean
  /** Whether a page has more entries than are read. */
  readonly isFull: boolean
  /** Whether the list has more pages than are read. */
  readonly hasMorePages: boolean
}

/**
 * Reads the pages of a list.
 *
 * @param report receives the error of a page that is not the first
 * @throws the error of the first page
 */
export async function readPages(
  member: ListMember,
  read: (cursor: string | undefined, received: Received) => Promise<Params>,
  report: (problem: McpError) => void,
): Promise<Pages> {
  const entries: Params[] = []
  const invalid: string[] = []
  const seen = new Set<string>()
  const received = newReceived(maxListBytes)
  let cursor: string | undefined
  let isComplete = true
  let isFull = false
  for (let page = 0; page < mostPages && !isFull && (page === 0 || cursor !== undefined); page += 1) {
    const earlierBytes = received.bytes
    const result = await read(cursor, received).catch((problem): Params => {
      if (page === 0 || !(problem instanceof McpError)) throw problem
      report(problem)
      isComplete = false
      return {}
    })
    const isSmall = received.bytes - earlierBytes <= maxEntryCharacters
    const values = result[member] ?? []
    for (const value of Array.isArray(values) ? values : []) {
      isFull = entries.length + invalid.length >= maxEntries[member]
      if (isFull) break
      const checked = readEntry(member, value, isSmall)
      if ('entry' in checked) entries.push(checked.entry)
      else invalid.push(checked.problem)
    }
    const { nextCursor } = result
    cursor = typeof nextCursor === 'string' && nextCursor !== '' && !seen.has(nextCursor) ? nextCursor : undefined
    if (cursor !== undefined) seen.add(cursor)
  }
  return { entries, invalid, isComplete, isFull, hasMorePages: cursor !== undefined }
}
