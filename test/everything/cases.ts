/** What clients do with both servers: each case returns what the client saw. */
import type { Answer, Answers, Json, Participant } from './participant.ts'

export type Case = {
  readonly name: string
  run(client: Participant): Promise<unknown>
}

/** Cases that one client runs in order. */
export type Group = {
  readonly name: string
  readonly capabilities: Json
  /** Whether only clients with sessions can run it. */
  readonly needsSession?: boolean
  /** Whether it takes so long that only the slow suite runs it. */
  readonly isSlow?: boolean
  readonly cases: readonly Case[]
}

const accept = (content: Json): Answers => ({ 'elicitation/create': () => ({ action: 'accept', content }) })
const reply = (result: Json): Answers => ({ 'elicitation/create': () => result })

class Refusal extends Error {
  readonly code = -1
}
const refuse = (message: string) => (): never => {
  throw new Refusal(message)
}

/** Answers of the person, the model and the folders behind each client, unless a case has others. */
export const answers: Answers = {
  ...accept({ name: 'Ada' }),
  'sampling/createMessage': () => ({
    model: 'a model',
    role: 'assistant',
    content: { type: 'text', text: 'Tea.' },
    stopReason: 'endTurn',
  }),
  'roots/list': () => ({ roots: [{ uri: 'file:///work', name: 'Work' }, { uri: 'file:///home' }] }),
}

/** Sends one request, and returns its outcome with the requests that the server sent meanwhile. */
const send = (method: string, params?: Json, given?: Answers): Case => ({
  name: `${method} ${JSON.stringify(params ?? {})}${given ? ` ${describe(given)}` : ''}`,
  async run(client) {
    client.answer({ ...answers, ...given })
    client.takeRequests()
    const outcome = await client.request(method, params)
    return { ...outcome, requests: client.takeRequests() }
  },
})

const describe = (given: Answers): string =>
  Object.entries(given)
    .map(([method, answer]) => {
      try {
        return JSON.stringify(answer({}))
      } catch (problem) {
        return `${method} refused: ${(problem as Error).message}`
      }
    })
    .join(' ')

const call = (name: string, args: Json = {}, given?: Answers) => send('tools/call', { name, arguments: args }, given)
const prompt = (name: string, args?: Json) => send('prompts/get', { name, ...(args && { arguments: args }) })
const read = (uri: string) => send('resources/read', { uri })
const complete = (ref: Json, name: string, value: string, known?: Json) =>
  send('completion/complete', { ref, argument: { name, value }, ...(known && { context: { arguments: known } }) })

const lists: readonly Case[] = [
  { name: 'initialize', run: async (client) => client.server },
  send('tools/list'),
  send('prompts/list'),
  send('resources/list'),
  send('resources/templates/list'),
]

const tools: readonly Case[] = [
  call('echo', { message: 'Grüße' }),
  call('echo', {}),
  call('echo', { message: 5 }),
  call('echo', { message: 'a', extra: true }),
  call('no-such-tool'),
  call('get-annotated-message', { messageType: 'error' }),
  call('get-annotated-message', { messageType: 'success', includeImage: true }),
  call('get-annotated-message', { messageType: 'debug', includeImage: false }),
  call('get-annotated-message', { messageType: 'other' }),
  call('get-annotated-message', { messageType: 'debug', includeImage: 'yes' }),
  call('get-env'),
  call('get-resource-links'),
  ...[0, 1, 2.5, 10, 11].map((count) => call('get-resource-links', { count })),
  call('get-resource-reference'),
  call('get-resource-reference', { resourceType: 'Blob', resourceId: 2 }),
  ...[0, 1.5, -1].map((resourceId) => call('get-resource-reference', { resourceId })),
  call('get-resource-reference', { resourceType: 'Image' }),
  ...['New York', 'Chicago', 'Los Angeles', 'Paris'].map((location) => call('get-structured-content', { location })),
  call('get-sum', { a: 1, b: 2 }),
  call('get-sum', { a: 0.1, b: 0.2 }),
  call('get-sum', { a: '1', b: 2 }),
  call('get-sum', { a: 1 }),
  call('get-tiny-image'),
  call('trigger-long-running-operation', { duration: 0.05, steps: 0 }),
  call('trigger-long-running-operation', { duration: -1, steps: 2 }),
  call('trigger-long-running-operation', { duration: '1' }),
  {
    name: 'progress of trigger-long-running-operation',
    async run(client) {
      const progress: Json[] = []
      const params = { name: 'trigger-long-running-operation', arguments: { duration: 0.3, steps: 3 } }
      const outcome = await client.request('tools/call', params, { onProgress: (params) => void progress.push(params) })
      return { ...outcome, progress }
    },
  },
]

/** @param files the address of a server of files */
const gzip = (files: string): readonly Case[] => {
  const compress = (args: Json) => call('gzip-file-as-resource', args)
  const url = (path: string) => `${files}/${path}`
  return [
    compress({ name: 'a.txt.gz', data: 'data:text/plain,first' }),
    compress({ name: 'b.txt.gz', data: 'data:text/plain;base64,c2Vjb25k', outputType: 'resource' }),
    ...['data:nonsense', 'data:text/plain;base64,!!!', 'ftp://localhost/a', 'no URL', 'https://example.com/a'].map(
      (data) => compress({ name: 'c.gz', data }),
    ),
    compress({ name: 'c.gz', data: `data:text/plain,${'x'.repeat(2000)}` }),
    compress({ name: 'c.gz', data: 'data:text/plain,a', outputType: 'zip' }),
    ...['hello', 'large', 'chunked', 'slow', 'missing', 'redirect'].map((path) =>
      compress({ name: `${path}.gz`, data: url(path) }),
    ),
    compress({ name: 'a b/ü.gz', data: 'data:text/plain,third' }),
  ]
}

/** Files that belong to a session. */
const files: readonly Case[] = [
  read('demo://resource/session/a.txt.gz'),
  read('demo://resource/session/b.txt.gz'),
  call('gzip-file-as-resource', { name: 'a.txt.gz', data: 'data:text/plain,changed' }),
  read('demo://resource/session/a.txt.gz'),
  read('demo://resource/session/unknown.gz'),
]

const resources: readonly Case[] = [
  ...['architecture', 'extension', 'features', 'how-it-works', 'instructions', 'startup', 'structure', 'unknown'].map(
    (name) => read(`demo://resource/static/document/${name}.md`),
  ),
  ...['1', '42', '0', '-1', '1.5', 'a', '12345678901234567890'].flatMap((id) => [
    read(`demo://resource/dynamic/text/${id}`),
    read(`demo://resource/dynamic/blob/${id}`),
  ]),
  read('demo://resource/dynamic/image/1'),
  read('unknown:resource'),
]

const prompts: readonly Case[] = [
  prompt('simple-prompt'),
  prompt('simple-prompt', {}),
  prompt('args-prompt', { city: 'Paris' }),
  prompt('args-prompt', { city: 'Paris', state: 'Texas' }),
  prompt('args-prompt', {}),
  prompt('args-prompt'),
  prompt('completable-prompt', { department: 'Engineering', name: 'Alice' }),
  prompt('completable-prompt', { department: 'Unknown', name: 'Nobody' }),
  prompt('completable-prompt', { department: 'Sales' }),
  prompt('resource-prompt', { resourceType: 'Text', resourceId: '1' }),
  prompt('resource-prompt', { resourceType: 'Blob', resourceId: '2' }),
  prompt('resource-prompt', { resourceType: 'Image', resourceId: '2' }),
  ...['0', '1.5', 'a'].map((resourceId) => prompt('resource-prompt', { resourceType: 'Text', resourceId })),
  prompt('no-such-prompt'),
]

const ofPrompt = (name: string): Json => ({ type: 'ref/prompt', name })
const ofTemplate = (uri: string): Json => ({ type: 'ref/resource', uri })

const completions: readonly Case[] = [
  ...['', 'E', 'S', 'e', 'x'].map((value) => complete(ofPrompt('completable-prompt'), 'department', value)),
  ...['Engineering', 'Sales', 'Marketing', 'Support', 'Unknown'].map((department) =>
    complete(ofPrompt('completable-prompt'), 'name', '', { department }),
  ),
  complete(ofPrompt('completable-prompt'), 'name', 'A', { department: 'Engineering' }),
  complete(ofPrompt('completable-prompt'), 'name', 'A'),
  complete(ofPrompt('completable-prompt'), 'no-such-argument', ''),
  complete(ofPrompt('args-prompt'), 'city', 'P'),
  complete(ofPrompt('no-such-prompt'), 'city', 'P'),
  ...['', 'T', 't'].map((value) => complete(ofPrompt('resource-prompt'), 'resourceType', value)),
  ...['', '1', '0', 'a'].map((value) => complete(ofPrompt('resource-prompt'), 'resourceId', value)),
  ...['text', 'blob'].flatMap((kind) =>
    ['', '7', '0', '-1', 'a'].map((value) =>
      complete(ofTemplate(`demo://resource/dynamic/${kind}/{resourceId}`), 'resourceId', value),
    ),
  ),
  complete(ofTemplate('demo://resource/static/document/features.md'), 'name', 'a'),
  complete(ofTemplate('demo://no-such/{template}'), 'template', 'a'),
]

/** A form with a value for each of its fields. */
const everyField = {
  name: 'Ada',
  check: true,
  firstLine: 'Once upon a time',
  email: 'ada@example.com',
  homepage: 'https://example.com',
  birthdate: '1815-12-10',
  integer: 5,
  number: 2.5,
  untitledSingleSelectEnum: 'Joey',
  untitledMultipleSelectEnum: ['Piano', 'Drums'],
  titledSingleSelectEnum: 'hero-2',
  titledMultipleSelectEnum: ['fish-1', 'fish-3'],
  legacyTitledEnum: 'pet-3',
}

const page = { url: 'https://example.com/page', elicitationId: 'e1' }

const inputRequests: readonly Case[] = [
  call('get-roots-list'),
  call('trigger-elicitation-request'),
  ...[
    accept(everyField),
    accept({ name: 'Ada', check: false }),
    reply({ action: 'decline' }),
    reply({ action: 'cancel' }),
  ].map((given) => call('trigger-elicitation-request', {}, given)),
  call('trigger-elicitation-request', {}, { 'elicitation/create': refuse('No dialog') }),
  call('trigger-elicitation-request', {}, reply({ action: 'accept' })),
  ...(['accept', 'decline', 'cancel'] as const).map((action) =>
    call('trigger-url-elicitation', page, reply({ action })),
  ),
  call('trigger-url-elicitation', { url: 'https://example.com/other', message: 'Look' }, reply({ action: 'accept' })),
  call('trigger-url-elicitation', { ...page, elicitationId: 'e2', errorPath: true }, reply({ action: 'accept' })),
  call('trigger-url-elicitation', { ...page, elicitationId: 'e2', errorPath: true }, reply({ action: 'decline' })),
  call('trigger-url-elicitation', { ...page, elicitationId: 'e2', errorPath: true }, reply({ action: 'cancel' })),
  call('trigger-url-elicitation', { url: 'no URL' }),
  call('trigger-url-elicitation', { ...page, url: 'http://example.com/page' }, reply({ action: 'accept' })),
  call('trigger-url-elicitation', { ...page, url: 'javascript:alert(1)' }, reply({ action: 'accept' })),
  call('trigger-sampling-request', { prompt: 'What to drink?' }),
  call('trigger-sampling-request', { prompt: 'What to drink?', maxTokens: 7 }),
  call('trigger-sampling-request', {}),
  call('trigger-sampling-request', { prompt: 'Refused' }, { 'sampling/createMessage': refuse('No model') }),
]

const inputRequestCapabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} }

/** Sends one request, and waits for a notification. */
const notifies = (method: string, params: Json, notification: string, matches?: (params: Json) => boolean): Case => ({
  name: `${method} ${JSON.stringify(params)} sends ${notification}`,
  async run(client) {
    const before = client.heard.length
    const outcome = await client.request(method, params)
    return { ...outcome, notification: await client.notified(notification, matches, before) }
  },
})

const toggle = (name: string) => ({ name, arguments: {} })
const isAbout = (words: string) => (params: Json) => String(params.data).includes(words)

const document = 'demo://resource/static/document/features.md'
const dynamic = 'demo://resource/dynamic/text/1'

/** Requests that only sessions have. */
const sessionRequests: readonly Case[] = [
  notifies('resources/subscribe', { uri: document }, 'notifications/message', isAbout('Received Subscribe')),
  notifies('resources/unsubscribe', { uri: document }, 'notifications/message', isAbout('Received Unsubscribe')),
  send('ping'),
  send('no-such/method'),
  ...['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency', 'loud'].map((level) =>
    send('logging/setLevel', { level }),
  ),
  ...['demo://resource/dynamic/text/1', 'demo://resource/static/document/features.md', 'unknown:resource'].flatMap(
    (uri) => [send('resources/subscribe', { uri }), send('resources/unsubscribe', { uri })],
  ),
  send('resources/unsubscribe', { uri: 'demo://resource/dynamic/text/2' }),
  send('tasks/list'),
  send('tasks/get', { taskId: 'unknown' }),
]

/** Runs a task to its end. While it waits for input, its status is read. */
const task = (args: Json, given: Answers = {}): Case => ({
  name: `task simulate-research-query ${JSON.stringify(args)}${describe(given)}`,
  async run(client) {
    const taskOf = ({ result }: Json) => (result as { task: { taskId: string } }).task
    const status = () => client.request('tasks/get', { taskId })
    let waiting: Json | undefined
    client.answer({
      async 'elicitation/create'(params) {
        waiting = await status()
        const answer = given['elicitation/create'] ?? reply({ action: 'cancel' })['elicitation/create']
        return answer?.(params) ?? {}
      },
    })
    const created = await client.request('tools/call', {
      name: 'simulate-research-query',
      arguments: args,
      task: { ttl: 300_000 },
    })
    const { taskId } = taskOf(created)
    // The first stage begins soon after the task was created.
    let working = await status()
    while ((working.result as Json).statusMessage === undefined) working = await status()
    const result = await client.request('tasks/result', { taskId })
    const notification = await client.notified(
      'notifications/tasks/status',
      (params) => params.taskId === taskId && params.status === 'completed',
    )
    const cancelled = await client.request('tasks/cancel', { taskId })
    const requests = client.takeRequests()
    return { created, working, waiting, result, ended: await status(), notification, cancelled, requests }
  },
})

const tasks: readonly Case[] = [
  task({ topic: 'tea' }),
  task({ topic: 'mercury', ambiguous: true }, accept({ interpretation: 'technical' })),
  task({ topic: 'mercury', ambiguous: true }, reply({ action: 'decline' })),
  {
    name: 'cancel a task',
    async run(client) {
      const params = { name: 'simulate-research-query', arguments: { topic: 'tea' }, task: {} }
      const created = await client.request('tools/call', params)
      const { taskId } = (created.result as { task: { taskId: string } }).task
      const cancelled = await client.request('tasks/cancel', { taskId })
      const status = await client.request('tasks/get', { taskId })
      return { created, cancelled, status, result: await client.request('tasks/result', { taskId }) }
    },
  },
  send('tasks/list'),
  send('tools/call', { name: 'echo', arguments: { message: 'a' }, task: {} }),
  send('tools/call', { name: 'simulate-research-query', arguments: {}, task: {} }),
  call('simulate-research-query', { topic: 'tea' }),
]

/** Log messages and updates that go on after a call. Levels are random. */
const simulations: readonly Case[] = [
  send('logging/setLevel', { level: 'debug' }),
  notifies('tools/call', toggle('toggle-simulated-logging'), 'notifications/message', isAbout('-level message')),
  call('toggle-simulated-logging'),
  call('toggle-simulated-logging'),
  call('toggle-simulated-logging'),
]

/** Updates of resources that a client subscribes to, through all of their life. */
const updates: readonly Case[] = [
  {
    name: 'simulated updates of two resources',
    async run(client) {
      const unsubscribe = [await client.subscribe(document), await client.subscribe(dynamic)]
      const before = client.heard.length
      const started = await client.request('tools/call', toggle('toggle-subscriber-updates'))
      const updated = (uri: string, after: number) =>
        client.notified('notifications/resources/updated', (params) => params.uri === uri, after)
      const first = [await updated(document, before), await updated(dynamic, before)]
      // At the pace of the simulation.
      const again = await updated(document, client.heard.length)
      const stopped = await client.request('tools/call', toggle('toggle-subscriber-updates'))
      for (const end of unsubscribe) await end()
      return { started, first, again, stopped }
    },
  },
]

/** The reference server requests changed roots at once, the example when it needs them. */
const changedRoots: Case = {
  name: 'changed roots',
  async run(client) {
    client.answer({ 'roots/list': () => ({ roots: [{ uri: 'file:///elsewhere', name: 'Elsewhere' }] }) })
    await client.notifyRootsChanged()
    const list = () => client.request('tools/call', { name: 'get-roots-list', arguments: {} })
    for (let attempt = 0; attempt < 500; attempt++) {
      const outcome = await list()
      if (JSON.stringify(outcome).includes('Elsewhere')) return outcome
    }
    return list()
  },
}

/** The client works on a request of the server as a task, which takes a moment. */
const asTask =
  (result: Json): Answer =>
  ({ task }) =>
    task ? { task: clientTask(`task-${Date.now()}`) } : result

/** Its id says when the task began: both clients run at the same time. */
function clientTask(taskId: string): Json {
  const began = Number(taskId.slice('task-'.length))
  const status = Date.now() < began + 500 ? 'working' : 'completed'
  const times = { createdAt: new Date(began).toISOString(), lastUpdatedAt: new Date(began).toISOString() }
  return { taskId, status, ...times, ttl: 60_000, pollInterval: 200 }
}

/** Calls a tool whose request the client answers with a task. How often the server polls the task is its own choice. */
const answeredByTask = (name: string, args: Json, method: string, result: Json): Case => ({
  name: `${name} ${JSON.stringify(result)}`,
  async run(client) {
    const related = ({ taskId }: Json) => ({ 'io.modelcontextprotocol/related-task': { taskId } })
    client.answer({
      [method]: asTask(result),
      'tasks/get': ({ taskId }) => clientTask(String(taskId)),
      'tasks/result': (params) => ({ ...result, _meta: related(params) }),
    })
    client.takeRequests()
    const outcome = await client.request('tools/call', { name, arguments: args })
    const requests = client.takeRequests()
    return {
      ...outcome,
      requests: requests.filter(({ method }) => method !== 'tasks/get'),
      hasPolled: requests.some(({ method }) => method === 'tasks/get'),
    }
  },
})

const message = { model: 'a model', role: 'assistant', content: { type: 'text', text: 'Tea.' }, stopReason: 'endTurn' }
const elicit = ['trigger-elicitation-request-async', {}, 'elicitation/create'] as const

const clientTasks: readonly Case[] = [
  send('tools/list'),
  answeredByTask('trigger-sampling-request-async', { prompt: 'Tea?' }, 'sampling/createMessage', message),
  answeredByTask(...elicit, { action: 'accept', content: { name: 'Ada', favoriteColor: 'Blue', agreeToTerms: true } }),
  answeredByTask(...elicit, { action: 'decline' }),
  answeredByTask(...elicit, { action: 'cancel' }),
]

const taskCapabilities = {
  tasks: { list: {}, cancel: {}, requests: { sampling: { createMessage: {} }, elicitation: { create: {} } } },
}

const capability = (capabilities: Json): Group => ({
  name: `a client with ${JSON.stringify(capabilities)}`,
  capabilities,
  cases: [send('tools/list')],
})

const inputRequestTools: readonly Case[] = [
  call('get-roots-list'),
  call('trigger-elicitation-request'),
  call('trigger-url-elicitation', page),
  call('trigger-sampling-request', { prompt: 'Tea?' }),
]

/** @param fileServer the address of a server of files */
export const groups = (fileServer: string): readonly Group[] => [
  {
    name: 'a client that answers every request',
    capabilities: inputRequestCapabilities,
    cases: [...lists, ...tools, ...gzip(fileServer), ...resources, ...prompts, ...completions, ...inputRequests],
  },
  { name: 'a client without capabilities', capabilities: {}, cases: [send('tools/list'), ...inputRequestTools] },
  capability({ elicitation: {} }),
  capability({ elicitation: { form: {} } }),
  capability({ elicitation: { url: {} } }),
  capability({ sampling: {} }),
  capability({ roots: {} }),
  {
    name: 'a client whose roots change',
    capabilities: { roots: { listChanged: true } },
    needsSession: true,
    cases: [changedRoots],
  },
  { name: 'a session', capabilities: {}, needsSession: true, cases: sessionRequests },
  { name: 'tasks', capabilities: { elicitation: {} }, needsSession: true, isSlow: true, cases: tasks },
  {
    name: 'tasks of the client',
    capabilities: { ...inputRequestCapabilities, ...taskCapabilities },
    needsSession: true,
    isSlow: true,
    cases: clientTasks,
  },
  { name: 'updates', capabilities: {}, isSlow: true, cases: updates },
  { name: 'simulations', capabilities: {}, needsSession: true, isSlow: true, cases: simulations },
  {
    name: 'files of a session',
    capabilities: {},
    needsSession: true,
    cases: [
      call('gzip-file-as-resource', { name: 'a.txt.gz', data: 'data:text/plain,first' }),
      notifies(
        'tools/call',
        { name: 'gzip-file-as-resource', arguments: { name: 'b.txt.gz', data: 'data:text/plain,second' } },
        'notifications/resources/list_changed',
      ),
      ...files,
      send('resources/list'),
    ],
  },
]
