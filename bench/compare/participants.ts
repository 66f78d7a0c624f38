/** The participants of the comparison: one column of the table each. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Worker } from '../workerd.ts'
import { enveloped, sessionless, sessions, type Way } from './ways.ts'

export type Entry = { readonly worker: Worker; readonly way: Way }

export type Participant = {
  readonly name: string
  /** The package and the place of its version. Absent for servers of this repository. */
  readonly isPeer?: boolean
  readonly stateless?: Entry
  readonly session?: Entry
  /** Scenarios that it does not support, with the reason as a footnote. */
  readonly cannot?: Readonly<Record<string, string>>
  /** Its sessions are in the memory of one isolate: they are unknown to other isolates, and end with it. */
  readonly keepsNothing?: boolean
  /** A note about its column. */
  readonly note?: string
}

const worker = (
  entry: string,
  objects: readonly string[] = [],
  compatibilityFlags: readonly string[] = [],
): Worker => ({
  entry: `servers/${entry}.ts`,
  objects,
  compatibilityFlags,
})

const edgemcp = worker('edgemcp', ['McpSession'], ['enable_request_signal'])
const mcpAgent = worker('peers/agents-mcp-agent', ['BenchAgent'])
const tmcp = worker('peers/tmcp')

const noSessions = 'has no sessions'

export const participants: readonly Participant[] = [
  {
    name: 'floor',
    stateless: { worker: worker('floor'), way: enveloped },
    session: { worker: worker('floor-object', ['FloorObject']), way: sessions('2025-11-25') },
    note: 'a Worker written by hand; with sessions, the same with one call to a Durable Object',
  },
  {
    name: 'edgemcp',
    stateless: { worker: edgemcp, way: enveloped },
    session: { worker: edgemcp, way: sessions('2025-11-25') },
  },
  {
    name: 'mcp-lite',
    isPeer: true,
    stateless: { worker: worker('peers/mcp-lite'), way: sessionless('2025-06-18') },
    session: { worker: worker('peers/mcp-lite-sessions'), way: sessions('2025-06-18') },
    cannot: { ask: 'does not speak 2026-07-28' },
    keepsNothing: true,
    note: 'speaks 2025-06-18 at most; its sessions are in the memory of one isolate',
  },
  {
    name: 'tmcp',
    isPeer: true,
    stateless: { worker: tmcp, way: enveloped },
    session: { worker: tmcp, way: sessions('2025-06-18') },
    cannot: {
      json: 'takes no plain JSON Schemas',
      askSession: 'waits for the answer in memory, with nothing else to do: workerd takes that for a hung request',
    },
    keepsNothing: true,
    note: 'its sessions are of 2025-06-18 and in the memory of one isolate',
  },
  {
    name: 'SDK v2',
    isPeer: true,
    stateless: { worker: worker('peers/sdk'), way: enveloped },
    session: { worker: worker('peers/sdk-sessions', ['SdkSession']), way: sessions('2025-11-25') },
    note: 'sessions: its transport in the memory of a Durable Object for each, which loses them when it is evicted',
  },
  {
    name: 'agents, createMcpHandler',
    isPeer: true,
    stateless: { worker: worker('peers/agents-handler'), way: enveloped },
    cannot: { sessions: noSessions, progressSession: noSessions, create: noSessions, askSession: noSessions },
  },
  {
    name: 'agents, McpAgent',
    isPeer: true,
    session: { worker: mcpAgent, way: sessions('2025-11-25') },
    cannot: {
      ask: 'does not speak 2026-07-28',
      valibot: 'takes schemas of zod only',
      json: 'takes schemas of zod only',
    },
    note: 'has nothing but sessions, an object for each: where others are asked without one, it is asked in one',
  },
]

/**
 * edgemcp in another folder, such as a clone of an earlier commit.
 *
 * @throws Error when the folder has no bench/servers/edgemcp.ts, or when that exports no Durable Object classes
 */
export function buildBefore(folder: string): Participant {
  const entry = join(folder, 'bench/servers/edgemcp.ts')
  const classes = /export const \{([^}]*)\} = worker/.exec(readFileSync(entry, 'utf8'))?.[1]
  if (classes === undefined) throw new Error(`${entry} exports no Durable Object classes`)
  const objects = classes.split(',').map((name) => name.trim())
  const before = { ...edgemcp, entry, objects }
  return {
    name: 'edgemcp, before',
    stateless: { worker: before, way: enveloped },
    session: { worker: before, way: sessions('2025-11-25') },
  }
}

/** The parts of a start. */
export const startupRows: readonly { readonly name: string; readonly worker: Worker }[] = [
  { name: 'zod, and no server', worker: worker('zod-alone') },
  { name: 'edgemcp, with valibot instead', worker: { ...edgemcp, offer: 'valibot' } },
  { name: 'edgemcp, with JSON Schema instead', worker: { ...edgemcp, offer: 'json' } },
]

/** How a client uses a participant in a lane. `undefined`: the participant does not support it. */
export const entryOf = ({ stateless, session }: Participant, lane: 'stateless' | 'session'): Entry | undefined =>
  lane === 'stateless' ? (stateless ?? session) : session
