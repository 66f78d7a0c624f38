/**
 * Session ids that are missing, made up, tampered with or over, and places in streams that never were.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
 */
import {
  answered,
  empty,
  notification,
  type Params,
  post,
  type Row,
  refused,
  request,
  row,
  type Sendable,
  type Stage,
  stateless,
  type Wire,
} from './hostile-row.ts'

type IdOf = (stage: Stage) => string | Promise<string>

const unknown = refused(404, -32600, 1)
const notFound = refused(404, -32600)
const minute = 60_000

/** A ping with this session id. */
const under =
  (id: IdOf): Sendable =>
  async (stage) =>
    post(request('ping'), { 'Mcp-Session-Id': await id(stage) })

/** A ping with what becomes of a good session id. */
const tampered = (change: (id: string) => string) => under(async (stage) => change(await stage.shared('2025-11-25')))

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/** The text with the letter at this place replaced by another one. */
function changed(text: string, at: number): string {
  const letter = alphabet[(alphabet.indexOf(text.at(at) as string) + 1) % alphabet.length] as string
  return text.slice(0, at) + letter + text.slice(at === -1 ? text.length : at + 1)
}

/** The same bytes in the alphabet of ordinary base64. */
function respelt(id: string): string {
  const [key, sealed = ''] = id.split('.')
  return `${key}.${Buffer.from(sealed, 'base64url').toString('base64')}`
}

const handshake = { version: '2025-11-25', capabilities: {}, client: { name: 'c', version: '1' } }
const session = (more: Params = {}) => ({
  name: 'forged',
  expires: Date.now() + minute,
  handshake: { ...handshake, ...more },
})

/** A good id that the table made itself, with something about its text: what it says grows until it has that. */
async function idWith(stage: Stage, fits: (sealed: string) => boolean): Promise<string> {
  for (let name = 'c'; ; name += 'c') {
    const id = await stage.seals.seal('session', undefined, session({ client: { name, version: '1' } }), minute)
    if (fits(id.slice('table.'.length))) return id
  }
}

/** The same bytes: of the last letter only two bits count. */
const leftover = (id: string) => id.slice(0, -1) + alphabet[alphabet.indexOf(id.at(-1) as string) ^ 1]

async function ended(stage: Stage): Promise<string> {
  const id = await stage.session()
  await stage.send({ method: 'DELETE', headers: { 'Mcp-Session-Id': id } })
  return id
}

/** GET and DELETE, with an id or without. */
const both = (name: string, id: IdOf | undefined, outcome = notFound): Row[] =>
  ['GET', 'DELETE'].map((method) =>
    row(
      `a ${method} ${name}`,
      async (stage) => ({ method, headers: { 'Mcp-Session-Id': await id?.(stage) } }),
      outcome,
    ),
  )

/** GET with this Last-Event-ID, in a session whose stream 1 had two events and is over. */
const resuming =
  (last: string): ((stage: Stage) => Promise<Wire>) =>
  async (stage) => {
    const id = await stage.session('2025-06-18')
    const params = { name: 'progress', arguments: { steps: 1 }, _meta: { progressToken: 1 } }
    const { text } = await stage.send(post(request('tools/call', params), { 'Mcp-Session-Id': id }))
    if (!text.includes('id: 1.2')) throw new Error(`Not the stream that was expected: ${text}`)
    return { method: 'GET', headers: { 'Mcp-Session-Id': id, 'Last-Event-ID': last } }
  }

export const sessions: Row[] = [
  // Made up
  row('a request without a session is served', post(request('ping')), answered(1)),
  row('a notification without a session is accepted', post(notification('notifications/x')), empty(202)),
  ...[
    '',
    '.',
    'garbage',
    'table',
    'table.',
    '.AAAA',
    'table.AAAA',
    'table.!!!!',
    '__proto__.AAAA',
    '\xff\xfe',
    'a, b',
  ].map((id) =>
    row(
      `the session "${id}" is unknown`,
      under(() => id),
      unknown,
    ),
  ),
  row(
    'a session id of 50,000 letters is unknown',
    under(() => `table.${'A'.repeat(50_000)}`),
    unknown,
  ),
  ...both('without a session is refused', undefined, refused(400, -32600)),
  ...both('of a session that never existed is not found', () => 'garbage'),

  // Tampered with
  row(
    'an id of another key is unknown',
    tampered((id) => changed(id, 0)),
    unknown,
  ),
  row(
    'an id with another initialization vector is unknown',
    tampered((id) => changed(id, id.indexOf('.') + 1)),
    unknown,
  ),
  row(
    'an id with another content is unknown',
    tampered((id) => changed(id, Math.floor(id.length / 2))),
    unknown,
  ),
  row(
    'an id with another tag is unknown',
    tampered((id) => changed(id, id.length - 9)),
    unknown,
  ),
  row(
    'an id with another last letter is unknown',
    tampered((id) => changed(id, -1)),
    unknown,
  ),
  row(
    'an id without its last letter is unknown',
    tampered((id) => id.slice(0, -1)),
    unknown,
  ),
  row(
    'an id with a letter more is unknown',
    tampered((id) => `${id}A`),
    unknown,
  ),
  row(
    'an id with padding is unknown',
    tampered((id) => `${id}=`),
    unknown,
  ),
  row(
    'an id with a blank in it is unknown',
    tampered((id) => `${id.slice(0, 50)} ${id.slice(50)}`),
    unknown,
  ),
  row(
    'an id spelt in the other base64 is unknown',
    under(async (stage) => respelt(await idWith(stage, (sealed) => /[-_]/.test(sealed)))),
    unknown,
  ),
  row(
    'an id with other trailing bits is unknown',
    under(async (stage) => leftover(await idWith(stage, (sealed) => sealed.length % 4 === 2))),
    unknown,
  ),
  row(
    'an id twice in its header is unknown',
    tampered((id) => `${id}, ${id}`),
    unknown,
  ),
  row(
    'an id in small letters is unknown',
    tampered((id) => id.toLowerCase()),
    unknown,
  ),

  // Somebody else's, or over
  row(
    'an id that this test sealed is accepted',
    under((stage) => idWith(stage, () => true)),
    answered(1),
  ),
  row(
    'an id of another server is unknown',
    under((stage) => stage.foreignSeals.seal('session', undefined, session(), minute)),
    unknown,
  ),
  row(
    'an id that has expired is unknown',
    under((stage) => stage.seals.seal('session', undefined, session(), -1)),
    unknown,
  ),
  row(
    'an id of another principal is unknown',
    under((stage) =>
      stage.seals.seal('session', { issuer: 'i', subject: 's', scopes: [], claims: {} }, session(), minute),
    ),
    unknown,
  ),
  row(
    'an id of an unsupported protocol version is unknown',
    under((stage) => stage.seals.seal('session', undefined, session({ version: '2023-01-01' }), minute)),
    unknown,
  ),
  row('the id of an ended session is unknown', under(ended), unknown),
  ...both('of an ended session is not found', ended),
  row(
    'a DELETE with a body ends the session',
    async (stage) => ({ method: 'DELETE', headers: { 'Mcp-Session-Id': await stage.session() }, body: '{' }),
    empty(204),
  ),

  // Other sealed things
  row(
    'a cursor is refused as a session id',
    under((stage) => stage.cursor()),
    unknown,
  ),
  row(
    'a requestState is refused as a session id',
    under((stage) => stage.requestState()),
    unknown,
  ),
  row(
    'a session id is refused as a cursor',
    async (stage) => stateless('tools/list', { cursor: await stage.shared('2025-11-25') }),
    refused(200, -32602, 1),
  ),
  row(
    'a session id is refused as a requestState',
    async (stage) => stateless('tools/call', { name: 'ask_name', requestState: await stage.shared('2025-11-25') }),
    refused(200, -32602, 1),
  ),

  // Places in streams
  ...['garbage', '1', '1.', '.1', '1.-1', '-1.1', '01.1', '1.01', '1.1.1', '1e0.1', '1 .1', "1.1' OR 1=1 --"].map(
    (last) => row(`the Last-Event-ID "${last}" is invalid`, resuming(last), refused(400, -32600)),
  ),
  row('a Last-Event-ID beyond ASCII is invalid', resuming('\xff'), refused(400, -32600)),
  row('a Last-Event-ID of 400 digits is invalid', resuming(`1.${'9'.repeat(400)}`), refused(400, -32600)),
  row('a Last-Event-ID of a stream that never existed is refused', resuming('7.1'), refused(400, -32600)),
  row('a Last-Event-ID of a stream that was never opened is refused', resuming('0.0'), refused(400, -32600)),
  row('a Last-Event-ID beyond the newest event is refused', resuming('1.99'), refused(400, -32600)),
  row(
    'a Last-Event-ID of another session is refused',
    async (stage) => {
      const { headers } = await resuming('1.1')(stage)
      return { method: 'GET', headers: { ...headers, 'Mcp-Session-Id': await stage.session() } }
    },
    refused(400, -32600),
  ),
]
