/**
 * Measures the cost of an idle stream of a session, and the speed of a replay to a client that resumes, in turns with a
 * minimal server.
 */
import { Agent, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { Client } from './compare/client.ts'
import { sessions as sessionsOf } from './compare/ways.ts'
import { Folder } from './folder.ts'
import { listen, post } from './http.ts'
import { spreadOf, spreadText } from './report.ts'
import { type Process, startWorkerd, type Worker } from './workerd.ts'

/** Bytes by which the process grew for each stream, by round; and events per second, by round. */
export type Streams = { readonly server: string; readonly idle: number[]; readonly replay: number[] }

/**
 * Streams, each of a separate session: half of them fill memory that the process does not release after evictions, and the other
 * half are measured.
 */
const streams = 4000
/** Events of one replay. */
const events = 10_000
const replays = 9
/** Milliseconds until a server is idle after its streams were opened: idle objects are evicted. */
const settling = 13_000

const way = sessionsOf('2025-11-25')
const version = { 'MCP-Protocol-Version': way.revision }

/** The header with the session id. */
type Session = Readonly<Record<string, string>>

const servers: readonly { name: string; worker: Worker }[] = [
  {
    name: 'floor',
    worker: { entry: 'servers/floor-streams.ts', objects: ['FloorObject'], compatibilityFlags: [], evicted: true },
  },
  {
    name: 'edgemcp',
    worker: {
      entry: 'servers/streams.ts',
      objects: ['McpSession'],
      compatibilityFlags: ['enable_request_signal'],
      evicted: true,
    },
  },
]

/** @throws Error when an event is missing or repeated */
export async function measureStreams(rounds: number): Promise<Streams[]> {
  using folder = new Folder()
  const figures: Streams[] = servers.map(({ name }) => ({ server: name, idle: [], replay: [] }))
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, { worker }] of servers.entries()) {
      const start = (what: string) => startWorkerd(worker, join(folder.path, `${what}-${round}-${index}`))
      // A separate process for each, so that closing thousands of streams does not count for a replay.
      figures[index]?.idle.push(await measureIdle(await start('idle')))
      figures[index]?.replay.push(await measureReplay(await start('replay')))
    }
  }
  return figures
}

async function measureIdle(server: Process): Promise<number> {
  using workerd = server
  const client = new Client(workerd.url, way)
  const sessions = await Promise.all(Array.from({ length: streams }, () => client.openSession()))
  client.close()
  const open: IncomingMessage[] = []
  const fill = async (some: readonly Session[]) => {
    for (const session of some) open.push(await listen(workerd.url, { ...version, ...session }))
    await setTimeout(settling)
    return workerd.memory()
  }
  const before = await fill(sessions.slice(0, streams / 2))
  const after = await fill(sessions.slice(streams / 2))
  for (const response of open) response.destroy()
  return (after - before) / (streams / 2)
}

async function measureReplay(server: Process): Promise<number> {
  using workerd = server
  const client = new Client(workerd.url, way)
  const session = await client.openSession()
  client.close()
  const first = await talk(workerd.url, session)
  const speeds: number[] = []
  for (let time = 0; time < replays; time += 1) {
    const since = performance.now()
    await replay(workerd.url, session, first)
    speeds.push((events * 1000) / (performance.now() - since))
  }
  return spreadOf(speeds).median
}

async function replay(url: URL, session: Session, after: string): Promise<void> {
  const response = await listen(url, { ...version, ...session, 'Last-Event-ID': after })
  response.setEncoding('utf8')
  let rest = ''
  let seen = 0
  for await (const part of response) {
    const frames = `${rest}${part}`.split('\n\n')
    rest = frames.pop() ?? ''
    for (const frame of frames) {
      const [, progress] = /"progress":(\d+)/.exec(frame) ?? []
      if (progress === undefined) continue
      seen += 1
      if (Number(progress) !== seen) throw new Error(`Event ${progress} came where ${seen} should have been`)
    }
    if (seen === events) return void response.destroy()
  }
  throw new Error(`The stream ended after ${seen} events`)
}

/** Lets a session send this many notifications. @returns the event id before them */
async function talk(url: URL, session: Session): Promise<string> {
  const params = { name: 'talk', arguments: { events }, _meta: { progressToken: 'token' } }
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
  const agent = new Agent()
  const said = await text(await post(url, agent, message, { ...version, ...session }))
  agent.destroy()
  // The priming event comes before all others; the minimal server starts at 0.
  return /^id: (\S+)/m.exec(said)?.[1] ?? '0'
}

/** The measurements as Markdown. */
export function streamsTable(figures: readonly Streams[]): string {
  const [floor] = figures as [Streams]
  const times = (of: number[], to: number[]) =>
    spreadText(spreadOf(of.map((value, at) => value / (to[at] as number))), 2)
  const rows = figures.map(({ server, idle, replay }) => [
    server,
    spreadText(spreadOf(idle.map((bytes) => bytes / 1024)), 1),
    times(idle, floor.idle),
    spreadText(spreadOf(replay), 0),
    times(replay, floor.replay),
  ])
  const head = ['', 'KiB of an idle stream', '× floor', `events/s, ${events} replayed`, '× floor']
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}
