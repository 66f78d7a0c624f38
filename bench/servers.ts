/** The builds of edgemcp that are compared. Each row runs in a separate process, even if two rows are the same Worker. */
import { type Dialect, session, stateless } from './dialects.ts'
import { withoutQuestions } from './without-questions.ts'
import type { Worker } from './workerd.ts'

export type Server = Worker & {
  readonly name: string
  /** The dialect of its requests. */
  readonly dialect: Dialect
  /** Scenarios that it takes part in. Default: all of its dialect. */
  readonly only?: readonly string[]
}

const floor = { entry: 'servers/floor.ts', objects: [], compatibilityFlags: [] }
const floorObject = { entry: 'servers/floor-object.ts', objects: ['FloorObject'], compatibilityFlags: [] }
const edgemcp = {
  entry: 'servers/edgemcp.ts',
  objects: ['McpSession'],
  compatibilityFlags: ['enable_request_signal'],
}

export const servers: readonly Server[] = [
  { name: 'floor', ...floor, dialect: stateless },
  { name: 'floor, with an object', ...floorObject, dialect: stateless },
  { name: 'floor, with an object', ...floorObject, dialect: session },
  { name: 'edgemcp', ...edgemcp, dialect: stateless },
  { name: 'edgemcp without questions', ...edgemcp, plugins: [withoutQuestions], dialect: stateless, only: ['echo'] },
  // A second row of the same server shows the precision: a difference between them means nothing.
  { name: 'edgemcp, a second time', ...edgemcp, dialect: stateless, only: ['echo'] },
  { name: 'edgemcp', ...edgemcp, dialect: session },
]

/** A ratio of two rows in one scenario, as text. */
export type Comparison = { scenario: string; of: string; to: string; say(percent: string): string }

const echo = { scenario: 'echo', of: `edgemcp ${stateless.revision}` }

export const comparisons: readonly Comparison[] = [
  {
    ...echo,
    to: `edgemcp without questions ${stateless.revision}`,
    say: (percent) => `A handler with no question pays ${percent} for being able to ask.`,
  },
  {
    ...echo,
    to: `edgemcp, a second time ${stateless.revision}`,
    say: (percent) => `Two servers that do not differ differ by ${percent} here: smaller differences mean nothing.`,
  },
]
