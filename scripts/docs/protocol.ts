/** The tables of docs/how-it-works/protocol.md, computed by the code that translates between protocol versions. */
import { methods as protocolMethods } from '../../worker/engine/methods/index.ts'
import { type ErrorKind, errorTable } from '../../worker/protocol/errors.ts'
import type { Revision } from '../../worker/protocol/revision.ts'
import { revisions } from '../../worker/protocol/revisions/index.ts'
import type { InputRequest, Notification, Params, Result } from '../../worker/protocol/types.ts'

const columns = revisions.toReversed()

type Row = readonly [name: string, cell: (revision: Revision) => string]

/** The tables of docs/how-it-works/protocol.md. */
export const protocolTables = (): string =>
  [
    section('Transport', transport),
    section('Methods', methods(), 'Requests that a client can send. Plugins and extensions add methods of their own.'),
    section('Notifications', notifications, 'Notifications that a client can receive.'),
    section(
      'Input requests',
      inputRequests,
      'Input requests that a handler can send, if the client declares the capability. Any other throws in the handler and is never sent.',
    ),
    section('Members of list entries', members, 'Members that a version does not have are removed.'),
    section('Content of results', results, 'Content that a version does not have is converted as the row says.'),
    section(
      'Error codes',
      errors(),
      'The first column is the kind of an `McpError`. The others are the JSON-RPC code, and the HTTP status unless it is 200.',
    ),
  ].join('\n\n')

const yes = (is: boolean): string => (is ? 'yes' : '')

const transport: readonly Row[] = [
  ['sessions', ({ stateless }) => yes(!stateless)],
  ['stateless requests', ({ stateless }) => yes(stateless)],
  [
    'calls without a session id, [with restrictions](../clients/index.md#requests-without-a-session-id)',
    () => yes(true),
  ],
  [
    '… of methods that change a session',
    ({ requests }) => ([...requests].some((name) => protocolMethods[name]?.requires === 'session') ? 'refused' : ''),
  ],
  ['batches', ({ batching }) => yes(batching)],
  ['`ctx.closeStream`: the server ends the stream, the client polls', ({ polling }) => yes(polling)],
]

function methods(): Row[] {
  const names = new Set(revisions.flatMap(({ requests }) => [...requests]))
  return [...names].sort().map((name) => [code(name), ({ requests }) => yes(requests.has(name))])
}

const sent = (method: Notification['method']) => (revision: Revision) =>
  yes(revision.notification({ method, params: {} } as Notification) !== undefined)

const notifications: readonly Row[] = [
  [code('notifications/progress'), sent('notifications/progress')],
  ['… with `message`', (revision) => yes(hasMessage(revision))],
  [code('notifications/message'), sent('notifications/message')],
  [code('notifications/tools/list_changed'), sent('notifications/tools/list_changed')],
  [code('notifications/resources/updated'), sent('notifications/resources/updated')],
  [code('notifications/elicitation/complete'), sent('notifications/elicitation/complete')],
  [code('notifications/subscriptions/acknowledged'), sent('notifications/subscriptions/acknowledged')],
]

function hasMessage(revision: Revision): boolean {
  const params = { progressToken: 1, progress: 1, message: 'm' }
  const translated = revision.notification({ method: 'notifications/progress', params })
  return 'message' in ((translated?.params ?? {}) as Params)
}

const form = (schema: Params): Params => ({
  mode: 'form',
  message: 'm',
  requestedSchema: { type: 'object', properties: { field: schema } },
})
const sample = (content: Params, more: Params = {}): Params => ({
  messages: [{ role: 'user', content }],
  maxTokens: 1,
  ...more,
})
const text = { type: 'text', text: 't' }

const supports =
  (method: string, params: Params = {}) =>
  (revision: Revision) =>
    yes(revision.ask({ method, params } as InputRequest, 'id') !== undefined)

const inputRequests: readonly Row[] = [
  ['form (`ctx.elicit`)', supports('elicitation/create', form({ type: 'string' }))],
  ['… with a list of choices', supports('elicitation/create', form({ type: 'array', items: { enum: ['a'] } }))],
  [
    'web page (`ctx.elicitUrl`)',
    supports('elicitation/create', { mode: 'url', message: 'm', url: 'https://example.com' }),
  ],
  ['sampling (`ctx.sample`)', supports('sampling/createMessage', sample(text))],
  ['… with audio', supports('sampling/createMessage', sample({ type: 'audio', data: '', mimeType: 'audio/wav' }))],
  ['… with tools', supports('sampling/createMessage', sample({ type: 'tool_result', content: [] }))],
  ['roots (`ctx.roots`)', supports('roots/list')],
]

/** The remaining members of a list entry. */
function listed(method: string, list: string, entry: Params, member: string): Row[1] {
  return (revision) => {
    const result = revision.result(method, { [list]: [{ name: 'n', ...entry }] } as Result) as unknown as Params
    return yes(member in ((result[list] as Params[])[0] as Params))
  }
}

const tool = (member: string, value: unknown): Row[1] => listed('tools/list', 'tools', { [member]: value }, member)

const members: readonly Row[] = [
  ['`annotations` of tools', tool('annotations', {})],
  ['`title`', tool('title', 't')],
  ['`icons`', tool('icons', [])],
  [`${code('_meta')} of tools`, tool('_meta', {})],
  ['`outputSchema` of type `object`', tool('outputSchema', { type: 'object' })],
  ['… of any type; otherwise wrapped as `{ result }`', (revision) => yes(outputType(revision) === 'string')],
  ['`ttlMs` and `cacheScope` of lists', (revision) => yes(isKept(revision))],
]

/** The type of a tool's output schema that has the type string. */
const outputType = (revision: Revision) => {
  const listed = revision.result('tools/list', { tools: [{ outputSchema: { type: 'string' } }] } as unknown as Result)
  const [{ outputSchema }] = listed.tools as [{ outputSchema?: { type?: unknown } }]
  return outputSchema?.type
}

const isKept = (revision: Revision) => 'ttlMs' in revision.result('tools/list', { ttlMs: 1 } as unknown as Result)

const called = (result: Params, left: (result: Params) => boolean) => (revision: Revision) =>
  yes(left(revision.result('tools/call', result as Result) as unknown as Params))

const block = (content: Params): Row[1] =>
  called({ content: [content] }, (result) => (result.content as Params[])[0]?.type === content.type)

const hasStructure = ({ structuredContent }: Params) => structuredContent !== undefined

const results: readonly Row[] = [
  ['`structuredContent`: objects', called({ content: [], structuredContent: {} }, hasStructure)],
  [
    '… any value; otherwise wrapped as `{ result }`',
    called({ content: [], structuredContent: 1 }, ({ structuredContent }) => structuredContent === 1),
  ],
  ['resource links; otherwise text', block({ type: 'resource_link', uri: 'a://b', name: 'b' })],
  ['audio; otherwise text', block({ type: 'audio', data: '', mimeType: 'audio/wav' })],
]

function errors(): Row[] {
  return (Object.keys(errorTable) as ErrorKind[]).map((kind) => [
    code(kind),
    (revision) => {
      const { code: number, status } = revision.error(kind)
      return status === 200 ? String(number) : `${number}, ${status}`
    },
  ])
}

function section(title: string, rows: readonly Row[], note?: string): string {
  const head = `| feature | ${columns.map(({ date }) => date).join(' | ')} |`
  const line = `|---|${columns.map(() => '---|').join('')}`
  const lines = rows.map(([name, cell]) => `| ${name} | ${columns.map(cell).join(' | ')} |`)
  return [`## ${title}`, ...(note ? [note] : []), [head, line, ...lines].join('\n')].join('\n\n')
}

function code(name: string): string {
  return `\`${name}\``
}
