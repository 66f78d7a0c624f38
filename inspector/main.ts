/** The inspector: an MCP client for every protocol version, in a page of the server. */

import { connect, type TestClient } from '../worker/client/client.ts'
import { serverInfoKey } from '../worker/protocol/meta.ts'
import { annotation, headerParameters, parameterHeaders } from '../worker/protocol/param-headers.ts'
import type { InputRequest, Params, ServerCapabilities, ToolItem } from '../worker/protocol/types.ts'
import { type Calls, calls } from './calls.ts'
import { errorOf } from './content.ts'
import { button, fill, make } from './element.ts'
import { eventsPanel } from './events.ts'
import type { Complete } from './form.ts'
import { internals } from './internals.ts'
import { notificationLog } from './notifications.ts'
import { type Actions, type Offered, offers } from './offers.ts'
import { questions } from './questions.ts'
import { followReloads } from './reloads.ts'
import { save, saved } from './saved.ts'
import { settings } from './settings.ts'
import { canSignIn, finishSignIn, startSignIn } from './sign-in.ts'
import { openSubscriptions, type Subscriptions } from './subscriptions.ts'
import { type TaskCard, taskCard, taskIn } from './tasks.ts'
import { type Frame, trafficTo } from './traffic.ts'
import { wireLog } from './wire-log.ts'

const { mcp = '/mcp', sse, inside: insideAt, users } = document.body.dataset

/** A connection, with the subscriptions and tasks that end with it. */
type Connection = {
  client: TestClient
  token: string | undefined
  subscriptions: Subscriptions | undefined
  tasks: TaskCard[]
}

let connection: Connection | undefined
/** Counts connections, so that an outdated one is closed. */
let attempts = 0
let tools: readonly ToolItem[] = []
/** Counts requests for the lists, so that only the responses to the newest one are shown. */
let listings = 0

const signedIn = await finishSignIn(mcp).catch((thrown: Error) => thrown)
if (typeof signedIn === 'string') {
  save('settings', { ...Object(saved('settings')), token: signedIn })
  // The browser sends the cookie with the key of the inspector to pages that this page opens.
  location.replace('/')
}

const wire = wireLog(insideAt)
const internalsPanel = insideAt === undefined ? undefined : internals(insideAt)
const events = insideAt === undefined ? undefined : eventsPanel(() => connection && { token: connection.token, run })
const notifications = notificationLog()
const questionPanel = questions(
  (open) => (document.title = document.title.replace(/^(\(\d+\) )?/, open ? `(${open}) ` : '')),
)
const setting = settings(
  { hasSse: sse !== undefined, mayMakeUp: users !== undefined },
  () => void open(),
  () => void disconnect('closed', 'Not connected'),
)
const offer = offers()
const work: Calls = calls(readResource, showTask)
const problem = make('div', { class: 'problem', role: 'alert' })

fill(
  document.querySelector('main') as HTMLElement,
  make('details', { class: 'top', open: innerWidth > 700 }, make('summary', {}, 'Connection'), setting.element),
  problem,
  make(
    'div',
    { class: 'columns' },
    offer.element,
    make('div', { class: 'work' }, questionPanel.element, offer.chosen, work.element),
    make('aside', {}, notifications.element, events?.element, wire.element),
  ),
  internalsPanel?.element,
)
document.querySelector('header')?.append(setting.status)
addEventListener('pagehide', () => void connection?.client.close())
if (signedIn instanceof Error) showProblem(signedIn)
else void open()
if (insideAt !== undefined) {
  let uris: readonly string[] = []
  const reopen = async () => {
    // The developer may have disconnected.
    if (setting.status.dataset.state !== 'closed') await open(uris)
  }
  void followReloads(`${insideAt}=reload`, {
    onNews: () => events?.refresh(),
    async onLost() {
      if (setting.status.dataset.state === 'closed') return
      uris = [...(connection?.subscriptions?.uris ?? [])]
      await disconnect('connecting', 'The server reloads. Connecting …')
    },
    onBack: reopen,
    async onRefused(text) {
      await reopen()
      fill(problem, make('p', {}, text))
    },
  })
}

/** @param uris resources to subscribe to. Default: none */
async function open(uris: readonly string[] = []): Promise<void> {
  const attempt = await disconnect('connecting', 'Connecting …')
  // Another choice was made in the meantime, and connects itself.
  if (attempt !== attempts) return
  const ask = (method: InputRequest['method']) => (params: Params, key: string) =>
    questionPanel.ask({ method, params } as InputRequest, key)
  try {
    const { revision, isStateless, sse: overSse, caller, logLevel, capabilities } = setting.read()
    const { token, words } = caller
    const client = await connect(trafficTo({ mcp, sse }, { onFrame, headersFor }), {
      revision,
      sse: overSse,
      name: 'edgemcp-inspector',
      capabilities,
      ...(token && { token }),
      ...(logLevel && { logLevel }),
      answers: {
        elicit: ask('elicitation/create'),
        sample: ask('sampling/createMessage'),
        roots: () => ask('roots/list')({}, 'roots'),
      },
    })
    if (attempt !== attempts) return void client.close().catch(() => {})
    const { tools, prompts, resources } = capabilitiesOf(client)
    connection = { client, token, subscriptions: undefined, tasks: [] }
    const lists = {
      ...(tools?.listChanged && { toolsListChanged: true }),
      ...(prompts?.listChanged && { promptsListChanged: true }),
      ...(resources?.listChanged && { resourcesListChanged: true }),
    }
    connection.subscriptions = await openSubscriptions(client, lists, isStateless)
    for (const uri of uris) await connection.subscriptions.subscribe(uri)
    await list()
    if (attempt !== attempts) return
    setting.setStatus(
      'connected',
      `Connected as ${words} to ${nameOf(client)}${client.session ? `, session ${client.session.slice(0, 12)}…` : ''}`,
    )
  } catch (thrown) {
    if (attempt !== attempts) return
    showProblem(thrown)
    if (Object(thrown).status === 401 && (await canSignIn()) && attempt === attempts) {
      const signIn = () => startSignIn(mcp).catch(showProblem)
      problem.append(button('Sign in', signIn))
    }
  }
}

function showProblem(thrown: unknown): void {
  setting.setStatus('failed', 'Not connected')
  fill(problem, errorOf(thrown))
}

/** Ends the connection, and every attempt to connect. @returns the number of the next attempt */
async function disconnect(state: 'connecting' | 'closed', words: string): Promise<number> {
  const attempt = ++attempts
  setting.setStatus('connecting', words)
  fill(problem)
  questionPanel.cancelAll()
  const left = connection
  connection = undefined
  for (const task of left?.tasks ?? []) task.close()
  await left?.client.close().catch(() => {})
  if (attempt === attempts) setting.setStatus(state, words)
  return attempt
}

function nameOf({ initializeResult }: TestClient): string {
  const { name, version } = Object(initializeResult.serverInfo ?? Object(initializeResult._meta)[serverInfoKey]) as {
    name?: string
    version?: string
  }
  return `${name} ${version}`
}

// Lists

async function list(): Promise<void> {
  if (!connection) return
  const { client } = connection
  const listing = ++listings
  const can = capabilitiesOf(client)
  const [allTools, prompts, resources, templates, allEvents] = await Promise.all([
    can.tools ? every(client, 'tools/list', 'tools') : [],
    can.prompts ? every(client, 'prompts/list', 'prompts') : [],
    can.resources ? every(client, 'resources/list', 'resources') : [],
    can.resources ? every(client, 'resources/templates/list', 'resourceTemplates') : [],
    can.events ? every(client, 'events/list', 'events') : [],
  ])
  if (listing !== listings || client !== connection?.client) return
  const offered = { tools: allTools, prompts, resources, templates, events: allEvents } as unknown as Offered
  tools = offered.tools
  offer.show(offered, actions)
  if (!events) return
  events.element.hidden = !can.events
  void events.refresh()
}

const run = async (title: string, method: string, params: Params) =>
  connection && work.run(connection.client, { title, method, params })

/** Forms stay open after a reconnect, and use the current connection. */
const actions: Actions = {
  call: (title, method, params) => void run(title, method, params),
  complete:
    (ref): Complete =>
    async (name, value, others) => {
      if (!connection || !capabilitiesOf(connection.client).completions) return []
      const params = { ref, argument: { name, value }, context: { arguments: others } }
      const { completion } = await connection.client.request('completion/complete', params)
      return (completion as { values: string[] }).values
    },
  canSubscribe: () => connection !== undefined && capabilitiesOf(connection.client).resources?.subscribe === true,
  isSubscribed: (uri) => connection?.subscriptions?.uris.has(uri) === true,
  async subscribe(uri) {
    const listens = connection?.subscriptions
    await (listens?.uris.has(uri) ? listens.unsubscribe(uri) : listens?.subscribe(uri))
  },
  async poll(name, args) {
    const position = `position in ${name} ${JSON.stringify(args)}`
    const result = await run(name, 'events/poll', { name, arguments: args, cursor: saved(position) ?? null })
    if (result) save(position, result.cursor)
  },
  subscribeToEvent: events?.subscribe,
}

const capabilitiesOf = ({ initializeResult }: TestClient) =>
  (initializeResult.capabilities ?? {}) as ServerCapabilities & { events?: object }

async function every(client: TestClient, method: string, member: string): Promise<unknown[]> {
  const all: unknown[] = []
  let cursor: unknown
  do {
    const page = await client.request(method, cursor === undefined ? {} : { cursor })
    all.push(...(page[member] as unknown[]))
    cursor = page.nextCursor
  } while (cursor !== undefined)
  return all
}

function readResource(uri: string): void {
  void run(uri, 'resources/read', { uri })
}

/** Shows the task that a call created. */
function showTask(result: Params, title: string): Node | undefined {
  const createdTask = taskIn(result)
  if (!createdTask || !connection) return undefined
  const { client, subscriptions, tasks } = connection
  const card = taskCard(client, title, createdTask.task, createdTask.isExperimental, {
    questions: questionPanel,
    subscriptions: subscriptions,
    read: readResource,
  })
  tasks.push(card)
  work.show(card.element)
  return make('p', {}, 'The call continues as a task.')
}

// Notifications

function onFrame(frame: Frame): void {
  wire.add(frame)
  if (frame.note === undefined) internalsPanel?.refreshSoon()
  if (frame.direction === 'sent') return
  for (const message of [frame.value].flat()) {
    const { method, params = {} } = Object(message) as { method?: string; params?: Params }
    if (method?.startsWith('notifications/')) onNotification(method, params, frame)
  }
}

function onNotification(method: string, params: Params, frame: Frame): void {
  if (method === 'notifications/cancelled') questionPanel.cancel(String(params.requestId))
  if (method.startsWith('notifications/tasks'))
    connection?.tasks.find(({ taskId }) => taskId === params.taskId)?.update(params)
  // Calls show their own progress, and the page needs no acknowledgement of its subscriptions.
  if (!/progress|acknowledged/.test(method)) notifications.add(method, params, frame)
  if (method.endsWith('/list_changed')) void list().catch((thrown) => fill(problem, errorOf(thrown)))
}

/** The headers of mirrored arguments. */
function headersFor(message: unknown): Record<string, string> {
  const { method, params } = Object(message) as { method?: string; params?: Params }
  const tool = method === 'tools/call' && tools.find(({ name }) => name === params?.name)
  if (!tool || !JSON.stringify(tool.inputSchema).includes(annotation)) return {}
  return parameterHeaders(headerParameters(tool.inputSchema), params?.arguments)
}

// The error of a broken stream is shown, and not reported as an error of this page.
addEventListener('unhandledrejection', (event) => {
  event.preventDefault()
  fill(problem, errorOf(event.reason))
})
