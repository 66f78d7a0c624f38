/** Published clients, with what they bring for authorization. */
import * as current from '@modelcontextprotocol/client'
import { auth as auth1 } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { Client as Client20241105 } from 'mcp-sdk-2024-11-05/client/index.js'
import { SSEClientTransport as Transport20241105 } from 'mcp-sdk-2024-11-05/client/sse.js'
import { Client as Client20250326 } from 'mcp-sdk-2025-03-26/client/index.js'
import { StreamableHTTPClientTransport as Transport20250326 } from 'mcp-sdk-2025-03-26/client/streamableHttp.js'
import type { Journal } from './journal.ts'
import type { Wallet } from './wallet.ts'

export interface Program {
  /** @throws when its user has to be sent to the authorization server first */
  connect(): Promise<unknown>
  /** What the user came back with. */
  finish(returned: URLSearchParams): Promise<void>
  call(tool: string, args?: Record<string, unknown>): Promise<string>
  close(): Promise<void>
}

export type Published = {
  readonly name: string
  /** Does it hold a session? */
  readonly session: boolean
  /** The first request of a connection. */
  readonly opens: string
  /** How it goes for more scopes, while it holds a refresh token. */
  readonly stepsUp: 'by itself' | 'when told to'
  start(url: URL, wallet: Wallet, journal: Journal): Program
}

type Result = { content: unknown }

const textOf = ({ content }: Result) => (content as { text: string }[])[0]?.text ?? ''

const client2 = (mode: current.VersionNegotiationMode): Published['start'] => {
  return (url, wallet, { fetch }) => {
    let transport = new current.StreamableHTTPClientTransport(url, { authProvider: wallet, fetch })
    let client: current.Client | undefined
    return {
      async connect() {
        // One that was refused is not used again.
        await client?.close()
        transport = new current.StreamableHTTPClientTransport(url, { authProvider: wallet, fetch })
        client = new current.Client({ name: 'client', version: '2.4.0' }, { versionNegotiation: { mode } })
        await client.connect(transport)
      },
      finish: (returned) => transport.finishAuth(returned),
      call: async (name, args = {}) => textOf((await client?.callTool({ name, arguments: args })) as Result),
      close: async () => client?.close(),
    }
  }
}

const client1: Published['start'] = (url, wallet, { fetch }) => {
  let transport = new Transport1(url, { authProvider: wallet, fetch })
  let client: Client1 | undefined
  return {
    async connect() {
      await client?.close()
      transport = new Transport1(url, { authProvider: wallet, fetch })
      client = new Client1({ name: 'sdk', version: '1.32.2' })
      await client.connect(transport as Parameters<Client1['connect']>[0])
    },
    finish: (returned) => transport.finishAuth(returned.get('code') as string),
    call: async (name, args = {}) => textOf((await client?.callTool({ name, arguments: args })) as Result),
    close: async () => client?.close(),
  }
}

type Transport = { finishAuth(code: string): Promise<void> }
type Client = {
  // Each takes the transports of its own package.
  connect(transport: never): Promise<void>
  callTool(params: { name: string; arguments: Record<string, unknown> }): Promise<unknown>
  close(): Promise<void>
}

/** What the first 1.x clients have in common. They know no other `fetch` than the global one. */
const firstClient =
  (newClient: () => Client, newTransport: (url: URL, wallet: Wallet) => Transport): Published['start'] =>
  (url, wallet) => {
    let transport = newTransport(url, wallet)
    let client = newClient()
    return {
      async connect() {
        await client.close()
        transport = newTransport(url, wallet)
        client = newClient()
        await client.connect(transport as never)
      },
      finish: (returned) => transport.finishAuth(returned.get('code') as string),
      call: async (name, args = {}) => textOf((await client.callTool({ name, arguments: args })) as Result),
      close: () => client.close(),
    }
  }

/** They say neither which server a token shall be for nor what they want of it. */
export const first: readonly (Pick<Published, 'name' | 'start'> & { opens: readonly string[] })[] = [
  {
    name: 'sdk 1.12.3',
    opens: ['POST /mcp initialize 401', 'GET /.well-known/oauth-protected-resource 200'],
    start: firstClient(
      () => new Client20250326({ name: 'sdk', version: '1.12.3' }),
      (url, authProvider) => new Transport20250326(url, { authProvider }),
    ),
  },
  {
    name: 'sdk 1.9.0 over HTTP+SSE',
    // It takes the server for the authorization server, which has it read the metadata of the other.
    opens: ['GET /sse 401', 'GET /.well-known/oauth-authorization-server 200'],
    start: firstClient(
      () => new Client20241105({ name: 'sdk', version: '1.9.0' }),
      (url, authProvider) => new Transport20241105(new URL('sse', url), { authProvider }),
    ),
  },
]

/** As the documentation of 1.x has it for what its transport does not do: `auth` with what the challenge said. */
export const askAgain = (url: URL, wallet: Wallet, scope: string, { fetch }: Journal) =>
  auth1(wallet, { serverUrl: url, scope, fetchFn: fetch })

export const published: readonly Published[] = [
  {
    name: 'client 2.4.0, pinned',
    session: false,
    opens: 'server/discover',
    stepsUp: 'by itself',
    start: client2({ pin: '2026-07-28' }),
  },
  {
    name: 'client 2.4.0, negotiating',
    session: false,
    opens: 'server/discover',
    stepsUp: 'by itself',
    start: client2('auto'),
  },
  {
    name: 'client 2.4.0, legacy',
    session: true,
    opens: 'initialize',
    stepsUp: 'by itself',
    start: client2('legacy'),
  },
  { name: 'sdk 1.32.2', session: true, opens: 'initialize', stepsUp: 'when told to', start: client1 },
]
