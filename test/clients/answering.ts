/**
 * Published clients of every revision that answer whatever they are asked: all declare the same, and the same person,
 * model and folders answer. Only how a client is made differs.
 */
import { Client, StreamableHTTPClientTransport, type VersionNegotiationMode } from '@modelcontextprotocol/client'
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import * as types20251125 from '@modelcontextprotocol/sdk/types.js'
import { Client as Client20241105 } from 'mcp-sdk-2024-11-05/client/index.js'
import { SSEClientTransport as SseTransport20241105 } from 'mcp-sdk-2024-11-05/client/sse.js'
import * as types20241105 from 'mcp-sdk-2024-11-05/types.js'
import { Client as Client20250326 } from 'mcp-sdk-2025-03-26/client/index.js'
import { StreamableHTTPClientTransport as Transport20250326 } from 'mcp-sdk-2025-03-26/client/streamableHttp.js'
import * as types20250326 from 'mcp-sdk-2025-03-26/types.js'
import { Client as Client20250618 } from 'mcp-sdk-2025-06-18/client/index.js'
import { StreamableHTTPClientTransport as Transport20250618 } from 'mcp-sdk-2025-06-18/client/streamableHttp.js'
import * as types20250618 from 'mcp-sdk-2025-06-18/types.js'
import { type Message, oneByOne, overhear } from './generation.ts'
import { reconnectionOptions } from './sdk-1.ts'

type Json = Record<string, unknown>

/** Who answers. Each gets the params of what is asked and gives a result, as they are on the wire. */
export type Answering = {
  person(params: Json): Json | Promise<Json>
  model(params: Json): Json | Promise<Json>
  folders(): Json
}

/** A client that answers, and what it hears. What it is told comes back as one text, failures and errors too. */
export type AnsweringClient = {
  call(tool: string, args?: Json): Promise<string>
  prompt(name: string): Promise<string>
  read(uri: string): Promise<string>
  /** What client and server settled on. */
  readonly revision: unknown
  /** Every JSON-RPC message that came in. */
  readonly heard: readonly Message[]
  /** What the client itself found wrong. */
  readonly complaints: readonly Error[]
} & AsyncDisposable

export type Kind = {
  readonly package: string
  /** In which of its ways the package is used, if it has several. */
  readonly way: string
  readonly revision: string
  /** @param answering `undefined`: a client that can be asked nothing, and says so */
  connect(url: URL, answering?: Answering): Promise<AnsweringClient>
}

/** Said by clients of every revision, also by those that have no words for some of it. */
const everything = {
  elicitation: { form: {}, url: {} },
  sampling: { tools: {}, context: {} },
  roots: {},
}
const info = { name: 'answering', version: '1' }
const options = (answering: Answering | undefined) => ({ capabilities: answering ? everything : {} })
const reconnecting = { reconnectionOptions }

const newest = (way: string, mode: VersionNegotiationMode, revision: string): Kind => ({
  package: 'client 2.4.0',
  way,
  revision,
  async connect(url, answering) {
    const transport = new StreamableHTTPClientTransport(url, reconnecting)
    const client = new Client(info, { ...options(answering), versionNegotiation: { mode } })
    if (answering) {
      // Their types are of one revision each, what is answered here is of all.
      client.setRequestHandler('elicitation/create', ({ params }) => answering.person(params as Json) as never)
      client.setRequestHandler('sampling/createMessage', ({ params }) => answering.model(params as Json) as never)
      client.setRequestHandler('roots/list', () => answering.folders() as never)
    }
    return opened(client, transport, {
      heard: overhear(transport),
      revision: () => client.getNegotiatedProtocolVersion(),
      end: () => transport.terminateSession(),
    })
  },
})

/** The schemas by which a 1.x client knows what it is asked. The older ones know less. */
type Types = { CreateMessageRequestSchema: unknown; ListRootsRequestSchema: unknown; ElicitRequestSchema?: unknown }

type Older = {
  package: string
  way?: string
  revision: string
  Sdk: new (clientInfo: typeof info, clientOptions: never) => Sdk
  types: Types
  transportTo: (url: URL) => Transport
}

function older({ package: name, way = '', revision, Sdk, types, transportTo }: Older): Kind {
  return {
    package: name,
    way,
    revision,
    async connect(url, answering) {
      const transport = transportTo(url)
      const client = new Sdk(info, options(answering) as never)
      const { CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema } = types
      const answer = (schema: unknown, from: (params: Json) => unknown) =>
        client.setRequestHandler(schema as never, (async ({ params = {} }: { params?: Json }) => from(params)) as never)
      if (answering) {
        if (ElicitRequestSchema) answer(ElicitRequestSchema, answering.person)
        answer(CreateMessageRequestSchema, answering.model)
        answer(ListRootsRequestSchema, answering.folders)
      }
      // Over HTTP+SSE the stream is the session, and what is on it comes in chunks.
      const { terminateSession } = transport
      const heard = terminateSession ? overhear(transport) : overhear(transport, oneByOne())
      return opened(client, transport, {
        heard,
        revision: () => heard[0]?.result?.protocolVersion,
        end: async () => terminateSession?.call(transport),
      })
    },
  }
}

/** The clients, newest first: a column of the table each. */
export const kinds: readonly Kind[] = [
  newest('pinned', { pin: '2026-07-28' }, '2026-07-28'),
  newest('legacy', 'legacy', '2025-11-25'),
  older({
    package: 'sdk 1.32.2',
    revision: '2025-11-25',
    Sdk: Client1,
    types: types20251125,
    transportTo: (url) => new Transport1(url, reconnecting),
  }),
  older({
    package: 'sdk 1.32.2',
    way: 'HTTP+SSE',
    revision: '2025-11-25',
    Sdk: Client1,
    types: types20251125,
    transportTo: (url) => new SSEClientTransport(sse(url)),
  }),
  older({
    package: 'sdk 1.23.1',
    revision: '2025-06-18',
    Sdk: Client20250618,
    types: types20250618,
    transportTo: (url) => new Transport20250618(url, reconnecting),
  }),
  older({
    package: 'sdk 1.12.3',
    revision: '2025-03-26',
    Sdk: Client20250326,
    types: types20250326,
    transportTo: (url) => new Transport20250326(url, reconnecting),
  }),
  older({
    package: 'sdk 1.9.0',
    way: 'HTTP+SSE',
    revision: '2024-11-05',
    Sdk: Client20241105,
    types: types20241105,
    transportTo: (url) => new SseTransport20241105(sse(url)),
  }),
]

const sse = (url: URL) => new URL('sse', url)

type Transport = {
  onmessage?: ((message: never, ...more: never[]) => void) | undefined
  terminateSession?(): Promise<void>
}

/** What all clients have in common. */
interface Sdk {
  onerror?: (error: Error) => void
  connect(transport: never): Promise<void>
  setRequestHandler(schema: never, handler: never): void
  callTool(params: { name: string; arguments: Json }): Promise<unknown>
  getPrompt(params: { name: string }): Promise<unknown>
  readResource(params: { uri: string }): Promise<unknown>
  close(): Promise<void>
}

async function opened(
  client: Omit<Sdk, 'setRequestHandler'>,
  transport: Transport,
  { heard, revision, end }: { heard: Message[]; revision: () => unknown; end: () => Promise<void> },
): Promise<AnsweringClient> {
  const complaints: Error[] = []
  client.onerror = (error) => complaints.push(error)
  await client.connect(transport as never)
  return {
    revision: revision(),
    heard,
    complaints,
    call: (name, args = {}) =>
      inWords(async () => {
        const result = (await client.callTool({ name, arguments: args })) as { content: Text[]; isError?: boolean }
        const said = result.content.map(({ text }) => text).join('\n')
        return result.isError ? `failed: ${said}` : said
      }),
    prompt: (name) =>
      inWords(async () => {
        const { messages } = (await client.getPrompt({ name })) as { messages: { content: Text }[] }
        return messages.map(({ content }) => content.text).join('\n')
      }),
    read: (uri) =>
      inWords(async () => {
        const { contents } = (await client.readResource({ uri })) as { contents: Text[] }
        return contents.map(({ text }) => text).join('\n')
      }),
    async [Symbol.asyncDispose]() {
      await end().catch(() => {})
      await client.close()
    },
  }
}

type Text = { text?: string }

async function inWords(asked: () => Promise<string>): Promise<string> {
  try {
    return await asked()
  } catch (problem) {
    const { code, message } = problem as { code?: unknown; message: string }
    // 1.x clients put the code into the message too.
    return `${code === undefined ? 'error' : `error ${code}`}: ${message.replace(/^MCP error -?\d+: /, '')}`
  }
}
