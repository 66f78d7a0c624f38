import { describe, expect, test } from 'vitest'
import { classify } from '../../worker/protocol/classify.ts'
import { errorTable } from '../../worker/protocol/errors.ts'
import { parse } from '../../worker/protocol/jsonrpc.ts'
import { supportedVersions } from '../../worker/protocol/revisions/index.ts'
import { hasNextVersion } from '../support/next-version/replace.ts'

const modern = '2026-07-28'
const key = (name: string) => `io.modelcontextprotocol/${name}`

/** The `_meta` of a stateless request, with members changed; `undefined` takes one away. */
const envelope = (version: unknown = modern, changes: Record<string, unknown> = {}) => ({
  _meta: { [key('protocolVersion')]: version, [key('clientCapabilities')]: {}, ...changes },
})
const without = (name: string) => envelope(modern, { [key(name)]: undefined })

const request = (method: string, params?: unknown) => ({ jsonrpc: '2.0', id: 7, method, params })
const notification = (method: string, params?: unknown) => ({ jsonrpc: '2.0', method, params })
const hello = (version = '2025-11-25', meta?: object) =>
  request('initialize', {
    protocolVersion: version,
    capabilities: {},
    clientInfo: { name: 'c', version: '1' },
    ...meta,
  })
const answer = { jsonrpc: '2.0', id: 's1', result: {} }
const failed = { jsonrpc: '2.0', id: 's1', error: { code: -1, message: 'no' } }
const list = request('tools/list')

/** What became of a body, in a few words. */
function verdict(body: unknown, version: string | null, session: string | null = null): string {
  const found = classify(parse(typeof body === 'string' ? body : JSON.stringify(body)), { version, session })
  if ('refused' in found) return `refused ${found.refused.kind} ${errorTable[found.refused.kind].code}`
  if ('stateless' in found) return `stateless ${found.revision.date} ${found.stateless.method}`
  if ('messages' in found) return `session ${found.batch ? 'batch' : 'single'} ${found.messages.length}`
  return Object.keys(found).join()
}

const badEnvelope = 'refused invalid_envelope -32602'
const mismatch = 'refused header_mismatch -32020'
const unserved = 'refused unsupported_version -32022'
const invalid = 'refused invalid_request -32600'
const served = `stateless ${modern} tools/list`
const inSession = 'session single 1'

type Row = [name: string, body: unknown, version: string | null, expected: string, session?: string]

describe('the body and headers of a request determine its protocol version', () => {
  test.each<Row>([
    // A claim in the envelope.
    ['a whole envelope and the header', request('tools/list', envelope()), modern, served],
    ['a session id beside a claim is ignored', request('tools/list', envelope()), modern, served, 'sid'],
    [
      'with a client that names itself',
      request('tools/list', envelope(modern, { [key('clientInfo')]: { name: 'c', version: '1' } })),
      modern,
      served,
    ],
    ['with a log level', request('tools/list', envelope(modern, { [key('logLevel')]: 'debug' })), modern, served],
    [
      'with unknown keys',
      request('tools/list', envelope(modern, { 'com.example/x': 1, traceparent: '00-0-0-0' })),
      modern,
      served,
    ],
    ['with a progress token of text', request('tools/list', envelope(modern, { progressToken: 'p' })), modern, served],
    ['with a progress token of digits', request('tools/list', envelope(modern, { progressToken: 0 })), modern, served],
    [
      'a method that does not exist is still stateless',
      request('no/such', envelope()),
      modern,
      `stateless ${modern} no/such`,
    ],
    ['ping in an envelope', request('ping', envelope()), modern, `stateless ${modern} ping`],
    [
      'logging/setLevel in an envelope',
      request('logging/setLevel', envelope()),
      modern,
      `stateless ${modern} logging/setLevel`,
    ],
    [
      'resources/subscribe in an envelope',
      request('resources/subscribe', envelope()),
      modern,
      `stateless ${modern} resources/subscribe`,
    ],

    // Headers and envelope disagree.
    ['no version header', request('tools/list', envelope()), null, mismatch],
    ['an empty version header', request('tools/list', envelope()), '', mismatch],
    ['an older version in the header', request('tools/list', envelope()), '2025-11-25', mismatch],
    ['an older version in the header of a session', request('tools/list', envelope()), '2025-11-25', mismatch, 'sid'],
    ['garbage in the header', request('tools/list', envelope()), 'v1', mismatch],
    ['garbage in the envelope', request('tools/list', envelope('v999.0.0')), modern, mismatch],
    ['an older version in the envelope only', request('tools/list', envelope('2025-11-25')), modern, mismatch],
    ['a version of the future in the header only', request('tools/list', envelope()), '2099-01-01', mismatch],
    ['a version that differs in a space', request('tools/list', envelope(`${modern} `)), modern, mismatch],

    // Both agree on what is not served this way.
    ['garbage in both', request('tools/list', envelope('v999.0.0')), 'v999.0.0', unserved],
    ['a version of the future in both', request('tools/list', envelope('2099-01-01')), '2099-01-01', unserved],
    ['a draft in both', request('tools/list', envelope('DRAFT-2026-v1')), 'DRAFT-2026-v1', unserved],
    ['2025-11-25 in both', request('tools/list', envelope('2025-11-25')), '2025-11-25', unserved],
    ['2024-11-05 in both', request('tools/list', envelope('2024-11-05')), '2024-11-05', unserved],
    [
      'an older version in both, in a session',
      request('tools/list', envelope('2025-06-18')),
      '2025-06-18',
      unserved,
      'sid',
    ],
    ['an empty version in both', request('tools/list', envelope('')), '', unserved],

    // Envelopes that are not whole.
    ['a modern header and no params', list, modern, badEnvelope],
    ['a modern header and no _meta', request('tools/list', {}), modern, badEnvelope],
    ['a modern header and an invalid _meta', request('tools/list', { _meta: [] }), modern, badEnvelope],
    ['a modern header and an empty _meta', request('tools/list', { _meta: {} }), modern, badEnvelope],
    ['a header from the future and no _meta', list, '2099-01-01', unserved],
    ['no version in the envelope', request('tools/list', without('protocolVersion')), modern, badEnvelope],
    ['no capabilities in the envelope', request('tools/list', without('clientCapabilities')), modern, badEnvelope],
    ['no capabilities and no header', request('tools/list', without('clientCapabilities')), null, badEnvelope],
    [
      'no capabilities and a different header',
      request('tools/list', without('clientCapabilities')),
      '2025-11-25',
      badEnvelope,
    ],
    ['a version that is a number', request('tools/list', envelope(20260728)), modern, badEnvelope],
    ['a version that is null', request('tools/list', envelope(null)), null, badEnvelope],
    [
      'capabilities that are a list',
      request('tools/list', envelope(modern, { [key('clientCapabilities')]: [] })),
      modern,
      badEnvelope,
    ],
    [
      'capabilities that are null',
      request('tools/list', envelope(modern, { [key('clientCapabilities')]: null })),
      modern,
      badEnvelope,
    ],
    [
      'a client without a version',
      request('tools/list', envelope(modern, { [key('clientInfo')]: { name: 'c' } })),
      modern,
      badEnvelope,
    ],
    [
      'a client that is a text',
      request('tools/list', envelope(modern, { [key('clientInfo')]: 'c' })),
      modern,
      badEnvelope,
    ],
    [
      'a log level that does not exist',
      request('tools/list', envelope(modern, { [key('logLevel')]: 'loud' })),
      modern,
      badEnvelope,
    ],
    [
      'an invalid progress token',
      request('tools/list', envelope(modern, { progressToken: {} })),
      modern,
      'refused invalid_params -32602',
    ],

    // The handshake.
    ['initialize', hello(), null, 'handshake'],
    ['initialize for 2024-11-05', hello('2024-11-05'), null, 'handshake'],
    ['initialize for the stateless revision', hello(modern), null, 'handshake'],
    ['initialize with an older header', hello(), '2025-06-18', 'handshake'],
    ['initialize with garbage in the header', hello(), 'v999.0.0', unserved],
    ['initialize with the id of a session', hello(), null, 'handshake', 'sid'],
    ['initialize with a claim of an older version', hello('2025-11-25', envelope('2025-11-25')), null, 'handshake'],
    ['initialize with a claim that is not a date', hello('2025-11-25', envelope('v999.0.0')), null, 'handshake'],
    [
      'initialize with a claim without capabilities',
      hello('2025-11-25', without('clientCapabilities')),
      null,
      'handshake',
    ],
    ['initialize without params', request('initialize'), null, 'handshake'],
    ['initialize with a modern header', hello(), modern, mismatch],
    [
      'initialize in an envelope is a method that is not there',
      hello('2025-11-25', envelope()),
      modern,
      `stateless ${modern} initialize`,
    ],
    ['initialize in an envelope without the header', hello('2025-11-25', envelope()), null, mismatch],
    ['initialize in an envelope of the future', hello('2025-11-25', envelope('2099-01-01')), '2099-01-01', unserved],
    [
      'initialize with a claim and a log level that does not exist',
      hello('2025-11-25', envelope(modern, { [key('logLevel')]: 'loud' })),
      modern,
      badEnvelope,
    ],
    ['initialize without an id starts no session', notification('initialize'), null, inSession],

    // Sessions.
    ['a request without any sign', list, null, inSession],
    ['a request of a session', list, null, inSession, 'sid'],
    ["a request with the session's version", list, '2025-11-25', inSession, 'sid'],
    ['a request with garbage in the header', list, 'v999.0.0', unserved, 'sid'],
    ['a request with a word beyond every date in the header', list, 'zzz', unserved, 'sid'],
    [
      'a request with an _meta without a claim',
      request('tools/list', { _meta: { progressToken: 1 } }),
      '2025-06-18',
      inSession,
      'sid',
    ],
    ['an answer', answer, null, inSession, 'sid'],
    ["an answer with the session's version", answer, '2025-11-25', inSession, 'sid'],
    ['a refusal of the client', failed, '2025-06-18', inSession, 'sid'],
    ['an error without an id', { jsonrpc: '2.0', error: { code: -1, message: 'no' } }, null, inSession, 'sid'],
    [
      'an error with the id null',
      { jsonrpc: '2.0', id: null, error: { code: -1, message: 'no' } },
      null,
      inSession,
      'sid',
    ],
    ['a notification', notification('notifications/initialized'), null, inSession, 'sid'],
    [
      "a notification with the session's version",
      notification('notifications/initialized'),
      '2025-06-18',
      inSession,
      'sid',
    ],

    // Messages that stateless clients do not send.
    ['a notification with a modern header', notification('notifications/cancelled'), modern, 'ignored'],
    ['a notification with a claim', notification('notifications/x', envelope()), null, 'ignored'],
    ['a notification with a claim and its header', notification('notifications/x', envelope()), modern, 'ignored'],
    [
      'a notification with half an envelope',
      notification('notifications/x', without('clientCapabilities')),
      modern,
      'ignored',
    ],
    ['an answer with a modern header', answer, modern, invalid],
    ['a refusal with a modern header', failed, modern, invalid],

    // Batches.
    ['a batch', [list, list], null, 'session batch 2'],
    ['a batch of one', [list], '2025-03-26', 'session batch 1', 'sid'],
    [
      'a batch of answers and notifications',
      [answer, notification('notifications/initialized')],
      null,
      'session batch 2',
      'sid',
    ],
    ['a batch with initialize', [hello(), list], null, invalid],
    ['a batch with a claim', [list, request('tools/list', envelope())], null, invalid],
    ['a batch with a claiming notification', [notification('notifications/x', envelope())], null, invalid],
    ['a batch with a claim and its header', [request('tools/list', envelope())], modern, invalid],
    ['a batch with a modern header', [list], modern, invalid],
    ['a batch with something malformed', [list, 1], null, invalid],
    ['a batch in a batch', [[list]], null, invalid],
    ['an empty batch', [], null, invalid],

    // What is no message at all.
    ['not JSON', '{', null, 'refused parse_error -32700'],
    ['nothing', '', modern, 'refused parse_error -32700'],
    ['a number', 1, null, invalid],
    ['the id null', { jsonrpc: '2.0', id: null, method: 'tools/list', params: envelope() }, modern, invalid],
  ])('%s', (_, body, version, expected, session) => {
    expect(verdict(body, version, session)).toBe(expected)
  })
})

describe('an error response', () => {
  const recognised = (body: unknown, version: string | null) =>
    classify(parse(JSON.stringify(body)), { version, session: null })

  test.each([
    ['a header that differs', request('tools/list', envelope()), null],
    ['half an envelope', list, modern],
    ['a version that is not served', request('tools/list', envelope('v1')), 'v1'],
    ['initialize with a modern header', hello(), modern],
    ['an invalid message', { jsonrpc: '1.0', id: 7, method: 'x' }, null],
  ])('repeats the id of the request: %s', (_, body, version) => {
    expect(recognised(body, version)).toMatchObject({ id: 7 })
  })

  test('repeats a string id as a string', () => {
    expect(recognised({ ...list, id: '7' }, modern)).toMatchObject({ id: '7' })
  })

  test('to a batch has no id', () => {
    expect(recognised([{ ...list, jsonrpc: '1.0' }], null)).not.toHaveProperty('id', 7)
  })

  test('for an unsupported version names the supported versions and the requested one', () => {
    expect(recognised(request('tools/list', envelope('v999.0.0')), 'v999.0.0')).toMatchObject({
      refused: { data: { supported: supportedVersions, requested: 'v999.0.0' } },
    })
    expect(supportedVersions).toEqual(hasNextVersion ? ['2027-01-15', modern] : [modern])
  })

  test.each([
    ['protocolVersion', without('protocolVersion')],
    ['clientCapabilities', without('clientCapabilities')],
    ['clientInfo', envelope(modern, { [key('clientInfo')]: {} })],
    ['logLevel', envelope(modern, { [key('logLevel')]: 'loud' })],
  ])('for an invalid envelope names the key: %s', (name, params) => {
    const found = recognised(request('tools/list', params), modern)
    expect('refused' in found && found.refused.message).toContain(key(name))
  })
})

test('an error for headers names the missing header, or the different values', () => {
  const says = (version: string | null, body: object) => {
    const found = classify(parse(JSON.stringify(body)), { version, session: null })
    return 'refused' in found && found.refused.message
  }
  expect(says(null, request('tools/list', envelope()))).toBe('Missing header MCP-Protocol-Version')
  expect(says('2025-11-25', request('tools/list', envelope()))).toBe(
    'MCP-Protocol-Version is 2025-11-25, but the body has 2026-07-28',
  )
  expect(says(modern, hello())).toBe('Protocol version 2026-07-28 has no initialize: use server/discover')
})

describe('the envelope of a stateless request', () => {
  const read = (meta: Record<string, unknown>) => {
    const found = classify(parse(JSON.stringify(request('tools/list', envelope(modern, meta)))), {
      version: modern,
      session: null,
    })
    return 'stateless' in found ? found.envelope : undefined
  }

  test('gives the client and its log level', () => {
    const client = { name: 'c', version: '1', title: 'C' }
    expect(read({ [key('clientInfo')]: client, [key('logLevel')]: 'warning' })).toEqual({
      capabilities: {},
      client,
      logLevel: 'warning',
    })
  })

  test('reads an empty elicitation capability as forms', () => {
    expect(read({ [key('clientCapabilities')]: { elicitation: {} } })?.capabilities).toEqual({
      elicitation: { form: {} },
    })
  })

  test('reads an elicitation capability for URLs as URLs only', () => {
    expect(read({ [key('clientCapabilities')]: { elicitation: { url: {} } } })?.capabilities).toEqual({
      elicitation: { url: {} },
    })
  })
})
