/** What each revision knows, asked of the revisions themselves. */
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
    section('How it travels', transport),
    section('What clients may call', methods()),
    section('What clients hear', notifications),
    section('What clients may be asked', questions),
    section('What clients are told of', members),
    section('What calls give', results),
    section('Numbers of errors', errors(), 'JSON-RPC code, and HTTP status where it says more than 200.'),
  ].join('\n\n')

const yes = (is: boolean): string => (is ? 'yes' : '')

const transport: readonly Row[] = [
  ['sessions', ({ stateless }) => yes(!stateless)],
  ['requests that stand alone', ({ stateless }) => yes(stateless)],
  ['calls without a session id', () => yes(true)],
  [
    '… of a method that changes a session',
    ({ requests }) => ([...requests].some((name) => protocolMethods[name]?.requires === 'session') ? 'refused' : ''),
  ],
  ['batches', ({ batching }) => yes(batching)],
  ['streams that may be left and polled', ({ polling }) => yes(polling)],
]

function methods(): Row[] {
  const names = new Set(revisions.flatMap(({ requests }) => [...requests]))
  return [...names].sort().map((name) => [code(name), ({ requests }) => yes(requests.has(name))])
}

const heard = (method: Notification['method']) => (revision: Revision) =>
  yes(revision.notification({ method, params: {} } as Notification) !== undefined)

const notifications: readonly Row[] = [
  [code('notifications/progress'), heard('notifications/progress')],
  ['… with a message', (revision) => yes(hasMessage(revision))],
  [code('notifications/message'), heard('notifications/message')],
  [code('notifications/tools/list_changed'), heard('notifications/tools/list_changed')],
  [code('notifications/resources/updated'), heard('notifications/resources/updated')],
  [code('notifications/elicitation/complete'), heard('notifications/elicitation/complete')],
  [code('notifications/subscriptions/acknowledged'), heard('notifications/subscriptions/acknowledged')],
]

function hasMessage(revision: Revision): boolean {
  const params = { progressToken: 1, progress: 1, message: 'm' }
  const said = revision.notification({ method: 'notifications/progress', params })
  return 'message' in ((said?.params ?? {}) as Params)
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

const asked =
  (method: string, params: Params = {}) =>
  (revision: Revision) =>
    yes(revision.ask({ method, params } as InputRequest, 'id') !== undefined)

const questions: readonly Row[] = [
  ['a form', asked('elicitation/create', form({ type: 'string' }))],
  ['… with several choices', asked('elicitation/create', form({ type: 'array', items: { enum: ['a'] } }))],
  ['a page', asked('elicitation/create', { mode: 'url', message: 'm', url: 'https://example.com' })],
  ['its model', asked('sampling/createMessage', sample(text))],
  ['… about audio', asked('sampling/createMessage', sample({ type: 'audio', data: '', mimeType: 'audio/wav' }))],
  ['… about what a tool gave', asked('sampling/createMessage', sample({ type: 'tool_result', content: [] }))],
  ['its roots', asked('roots/list')],
]

/** What is left of an entry of a list. */
function listed(method: string, list: string, entry: Params, member: string): Row[1] {
  return (revision) => {
    const result = revision.result(method, { [list]: [{ name: 'n', ...entry }] } as Result) as unknown as Params
    return yes(member in ((result[list] as Params[])[0] as Params))
  }
}

const tool = (member: string, value: unknown): Row[1] => listed('tools/list', 'tools', { [member]: value }, member)

const members: readonly Row[] = [
  ['annotations of tools', tool('annotations', {})],
  ['titles', tool('title', 't')],
  ['icons', tool('icons', [])],
  [`${code('_meta')} of tools`, tool('_meta', {})],
  ['output schemas of objects', tool('outputSchema', { type: 'object' })],
  ['… of anything; wrapped as `{ result }` otherwise', (revision) => yes(outputType(revision) === 'string')],
  ['how long lists may be kept', (revision) => yes(isKept(revision))],
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
  ['structured content: objects', called({ content: [], structuredContent: {} }, hasStructure)],
  [
    '… anything; wrapped as `{ result }` otherwise',
    called({ content: [], structuredContent: 1 }, ({ structuredContent }) => structuredContent === 1),
  ],
  ['links to resources; a line of text otherwise', block({ type: 'resource_link', uri: 'a://b', name: 'b' })],
  ['audio; a line of text otherwise', block({ type: 'audio', data: '', mimeType: 'audio/wav' })],
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
  const head = `| | ${columns.map(({ date }) => date).join(' | ')} |`
  const line = `|---|${columns.map(() => '---|').join('')}`
  const lines = rows.map(([name, cell]) => `| ${name} | ${columns.map(cell).join(' | ')} |`)
  return [`## ${title}`, ...(note ? [note] : []), [head, line, ...lines].join('\n')].join('\n\n')
}

function code(name: string): string {
  return `\`${name}\``
}
