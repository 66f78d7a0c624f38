/** What a client gets to know of a desk, which every server in the folders here is. */
import {
  Client,
  type Notification,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type VersionNegotiationMode,
} from '@modelcontextprotocol/client'

/** What a tool is called with, one time after the other, and what the client hears of beside the results. */
type Sample = {
  readonly with: readonly (Record<string, unknown> | undefined)[]
  /** Each library words its own complaints in its own way. */
  readonly isWrong?: true
  readonly hears?: Notification['method']
}

const once = { with: [undefined] }
const samples: Readonly<Record<string, Sample>> = {
  add: { with: [{ a: 1, b: 2 }] },
  subtract: { with: [{ a: 1, b: 2 }] },
  convert: { with: [{ celsius: 100 }] },
  fail: once,
  break: once,
  order: { with: [{ item: 'tea' }, { item: 'milk' }] },
  summarize: { with: [{ text: 'A long story.' }] },
  roots: once,
  ticket: { with: [undefined, undefined] },
  asks: once,
  count: { with: [undefined, undefined] },
  remember: { with: [{ text: 'one' }, { text: 'two' }] },
  whoami: once,
  where: once,
  session: once,
  quiet: once,
  progress: once,
  log: once,
  unlock: { ...once, hears: 'notifications/tools/list_changed' },
  drawer: once,
  announce: { ...once, hears: 'notifications/tools/list_changed' },
  lock: { ...once, hears: 'notifications/tools/list_changed' },
  sweep: { ...once, hears: 'notifications/tools/list_changed' },
  edit: { with: [{ id: '1', text: 'Changed' }], hears: 'notifications/resources/updated' },
  remind: { with: [{ id: '1' }], hears: 'notifications/resources/updated' },
  git_commit: { with: [{ message: 'Tidies the desk' }] },
  forbidden: once,
  wrong: { with: [{ a: 'one', b: 2 }], isWrong: true },
}
/** Enough that they are listed, and then are not. */
const unsampled = new Set(['broom'])
/** Not a tool: what the name stands for. */
const toolOf = (sample: string): string => (sample === 'wrong' ? 'add' : sample)

const note = 'desk://notes/1'

/** @param token as which the client calls */
export async function conversation(url: URL, mode: VersionNegotiationMode, token = 'ada') {
  const client = new Client(
    { name: 'mover', version: '1.0.0' },
    { capabilities: { elicitation: {}, sampling: {}, roots: {} }, versionNegotiation: { mode } },
  )
  const asked: unknown[] = []
  const answers = [{ action: 'accept', content: { amount: 3 } } as const, { action: 'decline' } as const]
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    asked.push(params.message)
    return answers.shift() ?? { action: 'cancel' }
  })
  client.setRequestHandler('sampling/createMessage', async ({ params }) => {
    asked.push({ messages: params.messages, maxTokens: params.maxTokens })
    return { model: 'model', role: 'assistant', content: { type: 'text', text: 'In short.' } }
  })
  client.setRequestHandler('roots/list', async () => ({ roots: [{ uri: 'file:///desk', name: 'Desk' }] }))

  let told: unknown[] = []
  let heard = Promise.withResolvers<void>()
  let awaited: string | undefined
  client.fallbackNotificationHandler = async ({ method, params = {} }) => {
    const { _meta, ...rest } = params
    told.push({ method, ...rest })
    if (method === awaited) heard.resolve()
  }

  const headers = { Authorization: `Bearer ${token}` }
  const Transport = url.pathname === '/sse' ? SSEClientTransport : StreamableHTTPClientTransport
  await client.connect(new Transport(url, { requestInit: { headers } }))
  try {
    const isLegacy = client.getProtocolEra() === 'legacy'
    const capabilities = client.getServerCapabilities() ?? {}
    const { tools } = await client.listTools()
    const { resources } = await client.listResources()
    const { resourceTemplates } = await client.listResourceTemplates()
    const { prompts } = await client.listPrompts()
    if (isLegacy && capabilities.logging) await client.setLoggingLevel('info')
    if (isLegacy && capabilities.resources?.subscribe) await client.subscribeResource({ uri: note })

    const uncalled = tools.filter(({ name }) => !(name in samples) && !unsampled.has(name))
    if (uncalled.length > 0) throw new Error(`Nobody calls ${uncalled.map(({ name }) => name).join()}`)
    const outcomes: Record<string, unknown> = {}
    for (const [name, { with: given, isWrong, hears }] of Object.entries(samples)) {
      const known = name === 'drawer' ? (await client.listTools()).tools : tools
      if (!known.some((tool) => tool.name === toolOf(name))) continue
      outcomes[name] = []
      for (const args of given) (outcomes[name] as unknown[]).push(await call(name, args, isWrong, hears))
    }
    const read = async (uri: string) => {
      const { contents } = await client.readResource({ uri })
      return contents.map((content) => ({ uri: content.uri, text: 'text' in content && content.text }))
    }
    const completed = async (ref: { type: 'ref/resource'; uri: string } | { type: 'ref/prompt'; name: string }) => {
      if (!capabilities.completions) return undefined
      const name = ref.type === 'ref/prompt' ? 'topic' : 'id'
      return (await client.complete({ ref, argument: { name, value: '1' } })).completion.values
    }
    return {
      revision: client.getNegotiatedProtocolVersion(),
      server: client.getServerVersion()?.name,
      tools: tools.map(({ name, description, inputSchema: { properties = {}, required = [] } }) => {
        return { name, description, properties, required }
      }),
      resources: resources.map(({ name, uri, description }) => ({ name, uri, description })),
      templates: resourceTemplates.map(({ name, uriTemplate }) => ({ name, uriTemplate })),
      prompts: prompts.map(({ name, description, arguments: list }) => ({ name, description, list })),
      outcomes,
      asked,
      readme: await read('desk://readme'),
      note: await read('desk://notes/7'),
      edited: await read(note),
      missing: await read('desk://notes/404').catch(({ code }) => ({ code })),
      nowhere: await read('desk://nowhere').catch(() => 'refused'),
      prompt: (await client.getPrompt({ name: 'review', arguments: { topic: 'this' } })).messages,
      completed: [
        await completed({ type: 'ref/resource', uri: 'desk://notes/{id}' }),
        await completed({ type: 'ref/prompt', name: 'review' }),
      ],
    }

    async function call(name: string, args?: Record<string, unknown>, isWrong = false, hears?: string) {
      told = []
      heard = Promise.withResolvers()
      awaited = hears
      const onprogress = ({ progress, total, message }: { progress: number; total?: number; message?: string }) =>
        void told.push({ progress, total, message })
      const params = {
        name: toolOf(name),
        arguments: args,
        // Who speaks 2026-07-28 asks for log lines call by call.
        ...(!isLegacy && { _meta: { 'io.modelcontextprotocol/logLevel': 'info' } }),
      }
      try {
        const { content, structuredContent, isError } = await client.callTool(params, { onprogress })
        if (hears && isLegacy) await heard.promise
        const text = content.map((block) => (block.type === 'text' ? block.text : block.type)).join()
        const failed = isError === true
        return isWrong ? { failed } : { text, structured: structuredContent, failed, told }
      } catch (refused) {
        return isWrong ? { failed: true } : { refused: (refused as { code?: number }).code }
      }
    }
  } finally {
    await client.close()
  }
}
