/** What the 1.x clients of `@modelcontextprotocol/sdk` have in common. Their schemas and transports they have not. */
import type { Block, CallOptions, Client, Contents, Message, Notes } from './generation.ts'

type Page = { nextCursor?: string }
type Name = { name: string }
type RequestOptions = {
  onprogress?: (progress: { progress: number; total?: number }) => void
  signal?: AbortSignal
  timeout?: number
}

/** The methods of a 1.x client, as far as all of them agree. */
export interface Sdk1Client {
  onerror?: (error: Error) => void
  getServerVersion(): Name | undefined
  getInstructions(): string | undefined
  ping(): Promise<unknown>
  listTools(params: { cursor?: string }): Promise<Page & { tools: Name[] }>
  listResources(params: { cursor?: string }): Promise<Page & { resources: Name[] }>
  listResourceTemplates(params: { cursor?: string }): Promise<Page & { resourceTemplates: Name[] }>
  listPrompts(params: { cursor?: string }): Promise<Page & { prompts: Name[] }>
  callTool(
    params: { name: string; arguments?: Record<string, unknown> },
    schema: undefined,
    options: RequestOptions,
  ): Promise<Record<string, unknown>>
  readResource(params: { uri: string }): Promise<{ contents: { uri: string }[] }>
  getPrompt(params: { name: string; arguments?: Record<string, string> }): Promise<{ messages: { content: unknown }[] }>
  complete(params: {
    ref: { type: 'ref/prompt'; name: string } | { type: 'ref/resource'; uri: string }
    argument: { name: string; value: string }
    context?: { arguments?: Record<string, string> }
  }): Promise<{ completion: { values: string[] } }>
  setLoggingLevel(level: 'debug' | 'warning'): Promise<unknown>
  subscribeResource(params: { uri: string }): Promise<unknown>
  unsubscribeResource(params: { uri: string }): Promise<unknown>
  close(): Promise<void>
}

export type Sdk1Connection = {
  notes: Notes
  heard: Message[]
  revision: () => string | undefined
  session: () => string | undefined
  end: () => Promise<void>
}

export function sdk1Client(sdk: Sdk1Client, { notes, heard, revision, session, end }: Sdk1Connection): Client {
  return {
    ...notes,
    heard,
    server: { name: sdk.getServerVersion()?.name, instructions: sdk.getInstructions() },
    get revision() {
      return revision()
    },
    get session() {
      return session()
    },
    ping: () => sdk.ping(),
    tools: () => everyPage(async (page) => namesOf(await sdk.listTools(page), 'tools')),
    resources: () => everyPage(async (page) => namesOf(await sdk.listResources(page), 'resources')),
    templates: () => everyPage(async (page) => namesOf(await sdk.listResourceTemplates(page), 'resourceTemplates')),
    prompts: () => everyPage(async (page) => namesOf(await sdk.listPrompts(page), 'prompts')),
    async call(name, args = {}, options = {}) {
      const result = await sdk.callTool({ name, arguments: args }, undefined, requestOptions(options))
      return {
        content: result.content as Block[],
        structured: result.structuredContent,
        failed: result.isError === true,
      }
    },
    read: async (uri) => (await sdk.readResource({ uri })).contents as Contents[],
    prompt: async (name, args) =>
      (await sdk.getPrompt({ name, arguments: args })).messages.map(({ content }) => (content as Block).text),
    async complete(what, argument, context) {
      const ref =
        'prompt' in what
          ? { type: 'ref/prompt' as const, name: what.prompt }
          : { type: 'ref/resource' as const, uri: what.template }
      const { completion } = await sdk.complete({ ref, argument, ...(context && { context: { arguments: context } }) })
      return completion.values
    },
    async setLogLevel(level) {
      await sdk.setLoggingLevel(level)
    },
    async watch(...uris) {
      for (const uri of uris) await sdk.subscribeResource({ uri })
      return {
        async stop() {
          for (const uri of uris) await sdk.unsubscribeResource({ uri })
        },
      }
    },
    end,
    close: () => sdk.close(),
  }
}

function namesOf<K extends string>(page: Page & Record<K, Name[]>, list: K): Page & { names: string[] } {
  return { nextCursor: page.nextCursor, names: page[list].map(({ name }) => name) }
}

async function everyPage(list: (params: { cursor?: string }) => Promise<Page & { names: string[] }>) {
  const all: string[] = []
  let cursor: string | undefined
  do {
    const { names, nextCursor } = await list(cursor === undefined ? {} : { cursor })
    all.push(...names)
    cursor = nextCursor
  } while (cursor !== undefined)
  return all
}

const requestOptions = ({ onProgress, signal, timeout }: CallOptions): RequestOptions => ({
  signal,
  timeout,
  ...(onProgress && { onprogress: ({ progress, total }) => onProgress(progress, total) }),
})

/** Milliseconds, and times. A server that names its own delay is heeded all the same. */
export const reconnectionOptions = {
  initialReconnectionDelay: 20,
  maxReconnectionDelay: 100,
  reconnectionDelayGrowFactor: 1.5,
  maxRetries: 10,
}
