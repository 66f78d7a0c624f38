/**
 * What a session's stream costs that nobody speaks on, and how fast one is replayed to a client that comes back: beside the
 * least there can be, in turns.
 */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, type IncomingMessage, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { spreadOf, spreadText } from './report.ts'
import { type Process, startWorkerd, type Worker } from './workerd.ts'

/** Bytes that the process grew by for each stream, by round; and events per second, by round. */
export type Streams = { readonly server: string; readonly idle: number[]; readonly replay: number[] }

/**
 * Streams, each of a session of its own: half of them fill what a process keeps for itself when objects are evicted, the other
 * half are measured.
 */
const streams = 4000
/** Events that are replayed at a time. */
const events = 10_000
const replays = 9
/** Milliseconds until a server that was just filled is at rest: objects that are idle have been evicted. */
const settling = 13_000

const servers: readonly { name: string; worker: Worker }[] = [
  {
    name: 'floor',
    worker: { entry: 'servers/floor-streams.ts', objects: ['FloorObject'], compatibilityFlags: [], evicted: true },
  },
  {
    name: 'edgemcp',
    worker: {
      entry: 'servers/streams.ts',
      objects: ['McpSession', 'McpUpdates'],
      compatibilityFlags: ['enable_request_signal'],
      evicted: true,
    },
  },
]

/** @throws Error when an event is missing, or comes twice */
export async function measureStreams(rounds: number): Promise<Streams[]> {
  const folder = mkdtempSync(join(tmpdir(), 'edgemcp-bench-'))
  const figures: Streams[] = servers.map(({ name }) => ({ server: name, idle: [], replay: [] }))
  const running: Process[] = []
  const leave = () => {
    for (const workerd of running.splice(0)) workerd.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  process.once('exit', leave)
  try {
    for (let round = 0; round < rounds; round += 1) {
      for (const [index, { worker }] of servers.entries()) {
        const start = async (what: string) => {
          const workerd = await startWorkerd(worker, join(folder, `${what}-${round}-${index}`))
          running.push(workerd)
          return workerd
        }
        // A process of its own for each: that thousands of streams are closed is not what a replay costs.
        const crowded = await start('idle')
        figures[index]?.idle.push(await measureIdle(crowded))
        crowded.stop()
        const quiet = await start('replay')
        figures[index]?.replay.push(await measureReplay(quiet.url))
        quiet.stop()
      }
    }
    return figures
  } finally {
    process.off('exit', leave)
    leave()
  }
}

async function measureIdle({ url, memory }: Process): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 16 })
  const sessions = await Promise.all(Array.from({ length: streams }, () => openSession(url, agent)))
  agent.destroy()
  const open: IncomingMessage[] = []
  const fill = async (some: readonly string[]) => {
    for (const session of some) open.push(await listen(url, session))
    await setTimeout(settling)
    return memory()
  }
  const before = await fill(sessions.slice(0, streams / 2))
  const after = await fill(sessions.slice(streams / 2))
  for (const response of open) response.destroy()
  return (after - before) / (streams / 2)
}

async function measureReplay(url: URL): Promise<number> {
  const agent = new Agent({ keepAlive: true })
  const session = await openSession(url, agent)
  const first = await talk(url, session, agent)
  agent.destroy()
  const speeds: number[] = []
  for (let time = 0; time < replays; time += 1) {
    const since = performance.now()
    await replay(url, session, first)
    speeds.push((events * 1000) / (performance.now() - since))
  }
  return spreadOf(speeds).median
}

async function replay(url: URL, session: string, after: string): Promise<void> {
  const response = await listen(url, session, after)
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

/** Lets a session say so many things. @returns the event id after which all of them are */
async function talk(url: URL, session: string, agent: Agent): Promise<string> {
  const params = { name: 'talk', arguments: { events }, _meta: { progressToken: 'token' } }
  const response = await post(url, agent, { method: 'tools/call', params }, session)
  response.setEncoding('utf8')
  let text = ''
  for await (const part of response) text += part
  // The priming event, which comes before all others; the floor begins at 0.
  return /^id: (\S+)/m.exec(text)?.[1] ?? '0'
}

async function openSession(url: URL, agent: Agent): Promise<string> {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bench', version: '1' } }
  const response = await post(url, agent, { method: 'initialize', params })
  response.resume()
  await once(response, 'end')
  return String(response.headers['mcp-session-id'])
}

async function post(url: URL, agent: Agent, message: object, session?: string): Promise<IncomingMessage> {
  const sent = request(url, {
    method: 'POST',
    agent,
    headers: { ...headersOf(session), 'Content-Type': 'application/json' },
  })
  sent.end(JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }))
  return answered(sent)
}

async function listen(url: URL, session: string, after?: string): Promise<IncomingMessage> {
  const sent = request(url, {
    agent: false,
    headers: { ...headersOf(session), ...(after !== undefined && { 'Last-Event-ID': after }) },
  })
  sent.end()
  return answered(sent)
}

const headersOf = (session: string | undefined) => ({
  Accept: 'application/json, text/event-stream',
  ...(session !== undefined && { 'MCP-Protocol-Version': '2025-11-25', 'Mcp-Session-Id': session }),
})

async function answered(sent: ReturnType<typeof request>): Promise<IncomingMessage> {
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  if (response.statusCode !== 200) throw new Error(`A request was answered with ${response.statusCode}`)
  return response
}

/** As Markdown. */
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
