/**
 * A separate process with subscribers: it keeps many streams open, records the time of each event, and checks that each
 * subscriber gets every publication once, in order. `audience.ts` starts it and sends it requests.
 */
import { Agent, type IncomingMessage, request } from 'node:http'
import { newest, stateless } from './dialects.ts'

/** The URI of a change: its scheme names the type of change, its number counts the publications of that scheme from 1. */
const shape = /^(\w+):\/\/(\d+)/

export type Group = {
  /** The number of subscribers. */
  count: number
  /** The URIs of the subscription of each. `#` is replaced with the number of the subscriber. */
  uris: readonly string[]
  /** Reads the start of the stream only, until a request to `read`. */
  stuck?: boolean
}

export type Asked =
  | { open: Group; url: string }
  /** Waits until this many subscribers got a URI. */
  | { heard: string; count: number }
  /** Lets paused subscribers read again. */
  | { read: true }
  /** Counts the subscribers that got the last publication of a scheme, and all before it. */
  | { last: string; number: number }

export type Answered =
  | { opened: true }
  /** Milliseconds of the system's monotonic clock, in order of arrival. */
  | { times: Float64Array }
  | { read: true }
  | { count: number }
  /** An unexpected event. */
  | { problem: string }

class Listener {
  readonly heard = new Map<string, number>()
  readonly response: IncomingMessage
  #text = ''

  constructor(response: IncomingMessage) {
    this.response = response
    response.setEncoding('utf8')
    response.on('close', () => fail('A stream was closed'))
  }

  /** Calls `take` for each event. A long event arrives in many chunks. */
  read(take: (event: string) => void): void {
    this.response.on('data', (piece: string) => {
      const text = this.#text + piece
      let from = 0
      for (let to = text.indexOf('\n\n'); to >= 0; to = text.indexOf('\n\n', from)) {
        take(text.slice(from, to))
        from = to + 2
      }
      this.#text = text.slice(from)
    })
  }
}

const agent = new Agent({ keepAlive: false })
const listeners: Listener[] = []
const stuck: Listener[] = []
const arrivals = new Map<string, number[]>()
let awaited: { uri: string; count: number } | undefined

const answer = (answered: Answered) => process.send?.(answered)
const fail = (problem: string) => answer({ problem })
const now = () => Number(process.hrtime.bigint()) / 1e6

/** The number of streams that are opened concurrently. */
const together = 64

async function open({ count, uris, stuck: isStuck = false }: Group, url: string): Promise<void> {
  const until = listeners.length + count
  let next = listeners.length
  const work = async () => {
    while (next < until) {
      const number = next++
      const listener = await listen(
        url,
        uris.map((uri) => uri.replace('#', `${number}`)),
        isStuck,
      )
      listeners[number] = listener
      if (isStuck) stuck.push(listener)
    }
  }
  await Promise.all(Array.from({ length: together }, work))
}

async function listen(url: string, uris: readonly string[], isStuck: boolean): Promise<Listener> {
  const method = 'subscriptions/listen'
  const notifications = { resourceSubscriptions: uris }
  const { headers, params } = stateless.write({ method, params: {} })
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  request(url, {
    method: 'POST',
    agent,
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': newest,
      ...headers,
    },
  })
    .on('response', resolve)
    .on('error', reject)
    .end(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, notifications } }))
  const response = await promise
  const listener = new Listener(response)
  const greeted = Promise.withResolvers<void>()
  let isGreeted = false
  listener.read((event) => {
    if (isGreeted) return take(listener, event)
    isGreeted = true
    const said = response.statusCode === 200 ? messageIn(event) : undefined
    const honoured = said?.params?.notifications?.resourceSubscriptions
    if (JSON.stringify(honoured) !== JSON.stringify(uris)) fail(`Listening was answered with: ${event}`)
    if (isStuck) response.pause()
    greeted.resolve()
  })
  await greeted.promise
  return listener
}

type Message = { method?: string; params?: { uri?: string; notifications?: { resourceSubscriptions?: string[] } } }

/** `undefined` for a comment. */
function messageIn(event: string): Message | undefined {
  return event.startsWith('data: ') ? JSON.parse(event.slice('data: '.length)) : undefined
}

function take({ heard }: Listener, event: string): void {
  const message = messageIn(event)
  if (!message) return
  const uri = message.params?.uri ?? ''
  const [, scheme = '', number] = shape.exec(uri) ?? []
  const due = (heard.get(scheme) ?? 0) + 1
  if (message.method !== 'notifications/resources/updated' || Number(number) !== due) {
    return void fail(`Instead of ${scheme} ${due} came ${event.slice(0, 200)}`)
  }
  heard.set(scheme, due)
  const times = arrivals.get(uri)
  if (times) times.push(now())
  else arrivals.set(uri, [now()])
  tell()
}

function tell(): void {
  if (!awaited) return
  const times = arrivals.get(awaited.uri)
  if (!times || times.length < awaited.count) return
  arrivals.delete(awaited.uri)
  awaited = undefined
  answer({ times: Float64Array.from(times) })
}

process.on('message', async (asked: Asked) => {
  if ('open' in asked) {
    await open(asked.open, asked.url)
    answer({ opened: true })
  } else if ('heard' in asked) {
    awaited = { uri: asked.heard, count: asked.count }
    tell()
  } else if ('read' in asked) {
    for (const { response } of stuck) response.resume()
    answer({ read: true })
  } else {
    answer({ count: listeners.filter(({ heard }) => heard.get(asked.last) === asked.number).length })
  }
})
process.on('disconnect', () => process.exit())
process.on('uncaughtException', (problem) => fail(String(problem)))
