/** Published clients that send the same requests to both servers, and record what comes back. */
import { Client as Client2, StreamableHTTPClientTransport as Transport2 } from '@modelcontextprotocol/client'
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import * as types from '@modelcontextprotocol/sdk/types.js'
import type { Message } from '../clients/generation.ts'
import { reconnectionOptions } from '../clients/sdk-1.ts'

export type Json = Record<string, unknown>

/** Answers a request of the server with a result. An error that it throws is sent to the server. */
export type Answer = (params: Json) => Json | Promise<Json>

/** Answers by method, such as `elicitation/create`. */
export type Answers = Readonly<Record<string, Answer>>

/** One client of one server. */
export type Participant = {
  /** Sends a request, and returns `{ result }` or `{ error }`. */
  request(method: string, params?: Json, options?: { onProgress?: (params: Json) => void }): Promise<Json>
  /** What the server says about itself. */
  readonly server: Json
  /** Answers requests of the server from now on. */
  answer(answers: Answers): void
  /** Requests of the server, with their methods and params, since the last call of this function. */
  takeRequests(): Json[]
  /** Messages that came in, as they came. */
  readonly heard: readonly Message[]
  /** Resolves when a notification came in that `matches`, from index `after` of `heard`; with a text if none comes in time. */
  notified(method: string, matches?: (params: Json) => boolean, after?: number): Promise<Json | string>
  /** Subscribes to a resource. Resolves with a function that unsubscribes. */
  subscribe(uri: string): Promise<() => Promise<void>>
  /** Tells the server that the roots have changed. */
  notifyRootsChanged(): Promise<void>
  close(): Promise<void>
}

export type ClientKind = {
  readonly name: string
  connect(url: URL, capabilities: Json, answers: Answers): Promise<Participant>
}

/** Milliseconds for a notification. The pace of simulated messages is 5 seconds. */
const notificationTimeoutMs = 15_000

const resultSchemas: Record<string, typeof types.ResultSchema> = {
  'tools/list': types.ListToolsResultSchema,
  'tools/call': types.ResultSchema,
  'prompts/list': types.ListPromptsResultSchema,
  'prompts/get': types.GetPromptResultSchema,
  'resources/list': types.ListResourcesResultSchema,
  'resources/templates/list': types.ListResourceTemplatesResultSchema,
  'resources/read': types.ReadResourceResultSchema,
  'completion/complete': types.CompleteResultSchema,
  'tasks/get': types.GetTaskResultSchema,
  'tasks/list': types.ListTasksResultSchema,
  'tasks/cancel': types.CancelTaskResultSchema,
}

/** `@modelcontextprotocol/sdk` 1.x: protocol version 2025-11-25. */
export const sdk1: ClientKind = {
  name: 'sdk 1.32.2, 2025-11-25',
  async connect(url, capabilities, answers) {
    const stream = watchStream()
    const transport = new Transport1(url, { reconnectionOptions, fetch: stream.fetch })
    const heard = listenTo(transport)
    const client = new Client1({ name: 'comparing', version: '1' }, { capabilities })
    const desk = new Desk(answers)
    client.fallbackRequestHandler = async ({ method, params = {} }) => desk.answer(method, params)
    await client.connect(transport)
    await stream.opened
    return participant(desk, heard, {
      server: serverOf(client),
      notifyRootsChanged: () => client.sendRootsListChanged(),
      async send(method, params, onProgress) {
        const schema = resultSchemas[method] ?? types.ResultSchema
        return client.request({ method, params }, schema, { onprogress: onProgress, timeout: 60_000 })
      },
      async subscribe(uri) {
        await client.subscribeResource({ uri })
        return async () => void (await client.unsubscribeResource({ uri }))
      },
      async close() {
        await transport.terminateSession()
        await client.close()
      },
    })
  },
}

/** `@modelcontextprotocol/client` 2.x: 2026-07-28 where the server has it, else 2025-11-25. */
export const sdk2: ClientKind = {
  name: 'client 2.4.0, 2026-07-28',
  async connect(url, capabilities, answers) {
    const stream = watchStream()
    const transport = new Transport2(url, { reconnectionOptions, fetch: stream.fetch })
    const heard = listenTo(transport)
    const client = new Client2(
      { name: 'comparing', version: '1' },
      { capabilities, versionNegotiation: { mode: 'auto' } },
    )
    const desk = new Desk(answers)
    // The types are of one protocol version each; the answers are what the cases say.
    if (capabilities.elicitation) {
      client.setRequestHandler('elicitation/create', ({ params }) => desk.answer('elicitation/create', params) as never)
    }
    if (capabilities.sampling) {
      client.setRequestHandler(
        'sampling/createMessage',
        ({ params }) => desk.answer('sampling/createMessage', params) as never,
      )
    }
    if (capabilities.roots) {
      client.setRequestHandler('roots/list', ({ params = {} }) => desk.answer('roots/list', params) as never)
    }
    // A notification without a handler is dropped before it is overheard on some streams.
    client.setNotificationHandler('notifications/resources/updated', () => {})
    client.setNotificationHandler('notifications/resources/list_changed', () => {})
    client.setNotificationHandler('notifications/message', () => {})
    await client.connect(transport)
    const isModern = client.getProtocolEra() === 'modern'
    if (!isModern) await stream.opened
    const methods = methodsOf(client)
    return participant(desk, heard, {
      server: serverOf(client),
      notifyRootsChanged: () => client.sendRootsListChanged(),
      async send(method, params, onProgress) {
        const send = methods[method]
        if (!send) throw new Error(`The client has no function for ${method}`)
        return send(params as never, { onprogress: onProgress, timeout: 60_000 })
      },
      async subscribe(uri) {
        if (isModern) {
          const subscription = await client.listen({ resourceSubscriptions: [uri], resourcesListChanged: true })
          return () => subscription.close()
        }
        await client.subscribeResource({ uri })
        return async () => void (await client.unsubscribeResource({ uri }))
      },
      async close() {
        if (!isModern) await transport.terminateSession()
        await client.close()
      },
    })
  },
}

type Send = (params: never, options: { onprogress: ((params: Json) => void) | undefined; timeout: number }) => unknown

const methodsOf = (client: Client2): Record<string, Send> => ({
  'tools/list': (params) => client.listTools(params),
  'tools/call': (params, options) => client.callTool(params, options),
  'prompts/list': (params) => client.listPrompts(params),
  'prompts/get': (params) => client.getPrompt(params),
  'resources/list': (params) => client.listResources(params),
  'resources/templates/list': (params) => client.listResourceTemplates(params),
  'resources/read': (params) => client.readResource(params),
  'completion/complete': (params) => client.complete(params),
})

/** Answers requests of a server, and records them. */
class Desk {
  #answers: Answers
  #requests: Json[] = []

  constructor(answers: Answers) {
    this.#answers = answers
  }

  set(answers: Answers): void {
    this.#answers = { ...this.#answers, ...answers }
  }

  async answer(method: string, params: Json): Promise<Json> {
    this.#requests.push({ method, params })
    const answer = this.#answers[method]
    if (!answer) throw new types.McpError(types.ErrorCode.MethodNotFound, `No answer to ${method}`)
    return answer(params)
  }

  take(): Json[] {
    const requests = this.#requests
    this.#requests = []
    return requests
  }
}

/** Makes a `fetch` that tells when the stream of a session is open: notifications that a server sends before may be lost. */
function watchStream() {
  const { promise, resolve } = Promise.withResolvers<void>()
  return {
    opened: promise,
    async fetch(url: string | URL, init?: RequestInit): Promise<Response> {
      const response = await fetch(url, init)
      if (init?.method === 'GET' && response.ok) resolve()
      return response
    },
  }
}

type Listener = (message: never, ...more: never[]) => void

/**
 * Records every message that comes in, before the client gets it. A request that comes in again is dropped: the reference server sends its
 * requests again when the client resumes the stream.
 */
function listenTo(transport: { onmessage?: Listener | undefined }): Message[] {
  const heard: Message[] = []
  const requestIds = new Set<unknown>()
  let listener = transport.onmessage
  Object.defineProperty(transport, 'onmessage', {
    get: () => listener,
    set(next: Listener | undefined) {
      listener = (message, ...more) => {
        const { id, method } = message as { id?: unknown; method?: string }
        if (method !== undefined && id !== undefined) {
          if (requestIds.has(id)) return
          requestIds.add(id)
        }
        if (heard.at(-1) !== message) heard.push(message)
        next?.(message, ...more)
      }
    },
  })
  return heard
}

/** What a server says about itself as a session starts, or in `server/discover`. */
const serverOf = (client: Client1 | Client2): Json => ({
  capabilities: client.getServerCapabilities(),
  serverInfo: client.getServerVersion(),
  instructions: client.getInstructions(),
})

type Connection = {
  server: Json
  send(method: string, params: Json, onProgress: ((params: Json) => void) | undefined): unknown
  subscribe: Participant['subscribe']
  notifyRootsChanged: Participant['notifyRootsChanged']
  close: Participant['close']
}

function participant(desk: Desk, heard: readonly Message[], { send, ...connection }: Connection): Participant {
  return {
    ...connection,
    heard,
    answer: (answers) => desk.set(answers),
    takeRequests: () => desk.take(),
    async request(method, params = {}, { onProgress } = {}) {
      try {
        return { result: await send(method, params, onProgress) }
      } catch (problem) {
        const { code, message, data } = problem as { code?: unknown; message: string; data?: unknown }
        return {
          error: { code, message: message.replace(/^(MCP error -?\d+: )+/, ''), ...(data !== undefined && { data }) },
        }
      }
    },
    async notified(method, matches = () => true, after = 0) {
      const find = () =>
        heard.slice(after).find((message) => message.method === method && matches(message.params ?? {}))
      const endsAt = Date.now() + notificationTimeoutMs
      while (!find() && Date.now() < endsAt) await new Promise((resolve) => setTimeout(resolve, 20))
      const found = find()
      return found ? (found.params ?? {}) : 'no notification'
    },
  }
}
