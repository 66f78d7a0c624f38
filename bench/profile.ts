/** The CPU profile that `workerd` records of itself during a scenario, as a table. */
import { Client } from './compare/client.ts'
import { entryOf, participants } from './compare/participants.ts'
import { scenarios } from './compare/scenarios.ts'
import { Folder } from './folder.ts'
import { scenarios as withPauses } from './pauses.ts'
import { startWorkerd } from './workerd.ts'

/** Milliseconds before the recording, and of the recording. */
const [warmUp, recorded] = [3000, 6000] as const
/** Concurrent operations. */
const concurrency = 16
/** The number of lines of the table. */
const most = 45

/** @see https://chromedevtools.github.io/devtools-protocol/tot/Profiler/#type-Profile */
type Profile = {
  nodes: {
    id: number
    callFrame: { functionName: string; url: string; lineNumber: number }
    children?: number[]
  }[]
  samples: number[]
  timeDeltas: number[]
}

/** @returns a table of functions, by the time spent in each, without the functions that it called */
export async function profile(serverName: string, key: string): Promise<string> {
  const scenario = [...scenarios, ...withPauses].find((one) => one.key === key)
  const participant = participants.find(({ name }) => name === serverName)
  const entry = scenario && participant && entryOf(participant, scenario.lane)
  if (!entry) throw new Error(`There is no scenario ${key} for a server ${serverName}`)
  using folder = new Folder()
  const worker = { ...entry.worker, offer: scenario.offer, sizes: scenario.sizes, isReadable: true }
  using workerd = await startWorkerd(worker, folder.path, { inspected: true })
  const client = new Client(workerd.url, entry.way, scenario.readPauseMs)
  try {
    await client.open(scenario.sessions)
    let number = 0
    const play = async (milliseconds: number) => {
      const [first, end] = [number, performance.now() + milliseconds]
      const work = async () => {
        while (performance.now() < end) await scenario.run(client, number++)
      }
      await Promise.all(Array.from({ length: concurrency }, work))
      return number - first
    }
    await play(warmUp)
    await using inspector = await Inspector.connect(workerd.inspector as URL)
    await inspector.ask('Profiler.enable')
    await inspector.ask('Profiler.setSamplingInterval', { interval: 200 })
    await inspector.ask('Profiler.start')
    const before = workerd.cpu()
    const operations = await play(recorded)
    const spent = workerd.cpu() - before
    const { profile } = (await inspector.ask('Profiler.stop')) as { profile: Profile }
    return tableOf(profile, operations, spent)
  } finally {
    client.close()
  }
}

/** @param spent milliseconds of CPU of the whole process */
function tableOf({ nodes, samples, timeDeltas }: Profile, operations: number, spent: number): string {
  const named = new Map(
    nodes.map(({ id, callFrame: { functionName, lineNumber } }) => {
      const place = lineNumber >= 0 ? `:${lineNumber + 1}` : ''
      return [id, `${functionName || '(anonymous)'}${functionName.startsWith('(') ? '' : place}`]
    }),
  )
  const times = new Map<string, number>()
  for (const [index, id] of samples.entries()) {
    const name = named.get(id) ?? '?'
    times.set(name, (times.get(name) ?? 0) + (timeDeltas[index] ?? 0))
  }
  const rows = [...times].filter(([name]) => name !== '(idle)').sort(([, a], [, b]) => b - a)
  const lines = rows.slice(0, most).map(([name, time]) => `| ${name} | ${(time / operations).toFixed(2)} |`)
  const each = (spent * 1000) / operations
  return [
    `${operations} operations, ${each.toFixed(1)} µs of CPU each`,
    '',
    '| function | µs |',
    '|---|---|',
    ...lines,
  ].join('\n')
}

/** A client of the developer tools protocol. */
class Inspector implements AsyncDisposable {
  readonly #socket: WebSocket
  readonly #waiting = new Map<number, { resolve: (result: unknown) => void; reject: (problem: Error) => void }>()
  #lastId = 0

  private constructor(socket: WebSocket) {
    this.#socket = socket
    socket.addEventListener('message', ({ data }) => {
      const { id, result, error } = JSON.parse(String(data))
      const waiting = this.#waiting.get(id)
      if (error) waiting?.reject(new Error(error.message))
      else waiting?.resolve(result)
    })
  }

  static async connect(address: URL): Promise<Inspector> {
    const [target] = (await (await fetch(new URL('/json', address))).json()) as { webSocketDebuggerUrl: string }[]
    const socket = new WebSocket(target?.webSocketDebuggerUrl ?? '')
    await new Promise((resolve, reject) => {
      socket.addEventListener('open', resolve)
      socket.addEventListener('error', () => reject(new Error('The inspector does not answer')))
    })
    return new Inspector(socket)
  }

  ask(method: string, params: object = {}): Promise<unknown> {
    const id = ++this.#lastId
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    this.#waiting.set(id, { resolve, reject })
    this.#socket.send(JSON.stringify({ id, method, params }))
    return promise
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.close()
  }
}
