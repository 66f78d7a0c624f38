/**
 * Claims about the revision that are missing, wrong or at odds with each other, and what becomes of a handshake.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle
 */
import {
  answered,
  capabilitiesKey,
  empty,
  envelope,
  type Headers,
  inSession,
  notification,
  type Params,
  post,
  type Row,
  refused,
  request,
  row,
  stateless,
  versionKey,
} from './hostile-row.ts'

/** Discovery with this `_meta`. */
const claiming = (_meta: unknown, headers: Headers = {}) => stateless('server/discover', { _meta }, headers)
const version = (claimed: unknown, header = String(claimed)) =>
  claiming(envelope({ [versionKey]: claimed }), { 'MCP-Protocol-Version': header })
const speaking = (header: string): Headers => ({ 'MCP-Protocol-Version': header })

const incomplete = refused(400, -32602, 1)
const mismatch = refused(400, -32020, 1)
const unsupported = (requested: string) => refused(400, -32022, 1, { data: { supported: ['2026-07-28'], requested } })
const discovered = answered(1, { supportedVersions: ['2026-07-28'] })

const hello = (more: Params = {}) => ({
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'c', version: '1' },
  ...more,
})
const initialize = (params: unknown, headers: Headers = {}) => post(request('initialize', params), headers)
const settled = (protocolVersion: string) => answered(1, { protocolVersion })

export const versions: Row[] = [
  // The envelope
  row(
    'absent params do not count as a claim',
    post(request('server/discover'), { ...speaking('2026-07-28'), 'Mcp-Method': 'server/discover' }),
    incomplete,
  ),
  ...[undefined, null, [], 'text', {}].map((meta) =>
    row(`the _meta ${JSON.stringify(meta)} does not count as a claim`, claiming(meta), incomplete),
  ),
  row('a claim without a version is incomplete', claiming({ [capabilitiesKey]: {} }), incomplete),
  row('a claim without capabilities is incomplete', claiming({ [versionKey]: '2026-07-28' }), incomplete),
  ...[null, [], 'text', true].map((capabilities) =>
    row(
      `the capabilities ${JSON.stringify(capabilities)} are invalid`,
      claiming(envelope({ [capabilitiesKey]: capabilities })),
      incomplete,
    ),
  ),
  ...[null, 20260728, ['2026-07-28'], {}].map((claimed) =>
    row(`the version ${JSON.stringify(claimed)} is invalid`, version(claimed, '2026-07-28'), incomplete),
  ),
  row('a version that is not a string is invalid with any header', version(1), incomplete),
  ...[null, 'c', {}, { name: 'c' }, { name: 1, version: '1' }, []].map((info) =>
    row(
      `the clientInfo ${JSON.stringify(info)} is invalid`,
      claiming(envelope({ 'io.modelcontextprotocol/clientInfo': info })),
      incomplete,
    ),
  ),
  ...[null, 'loud', 'INFO', 3, ['info']].map((level) =>
    row(
      `the logLevel ${JSON.stringify(level)} is invalid`,
      claiming(envelope({ 'io.modelcontextprotocol/logLevel': level })),
      incomplete,
    ),
  ),
  ...[null, {}, [], true, 1.5].flatMap((progressToken) => [
    row(
      `the progressToken ${JSON.stringify(progressToken)} is invalid`,
      claiming(envelope({ progressToken })),
      refused(200, -32602, 1),
    ),
    row(
      `the progressToken ${JSON.stringify(progressToken)} is invalid in a session`,
      inSession(request('tools/call', { name: 'nothing', _meta: { progressToken } })),
      refused(200, -32602, 1),
    ),
  ]),
  row('unknown keys are ignored', claiming(envelope({ 'com.example/x': [1], traceparent: 'nonsense' })), discovered),

  // Versions that are not served
  ...['v999.0.0', '2026-07-27', '2099-01-01', '9999-99-99', '', '2026-7-28', 'DRAFT-2026-v1'].map((claimed) =>
    row(`the version "${claimed}" is not supported`, version(claimed), unsupported(claimed)),
  ),
  ...['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'].map((claimed) =>
    row(`the version ${claimed} is not supported in stateless framing`, version(claimed), unsupported(claimed)),
  ),

  // Header and body at odds
  row('an unknown version under a modern header is a mismatch', version('v999.0.0', '2026-07-28'), mismatch),
  row('an older version under a modern header is a mismatch', version('2025-11-25', '2026-07-28'), mismatch),
  row('a modern version under an unknown header is a mismatch', version('2026-07-28', 'v999.0.0'), mismatch),
  row('a modern version under an older header is a mismatch', version('2026-07-28', '2025-03-26'), mismatch),
  row('a version with a blank does not match the header without it', version('2026-07-28 ', '2026-07-28'), mismatch),
  row(
    'a modern header without a claim is refused as incomplete',
    post(request('ping'), speaking('2026-07-28')),
    incomplete,
  ),
  row(
    'a future header without a claim is refused',
    post(request('ping'), speaking('2027-01-01')),
    unsupported('2027-01-01'),
  ),
  row(
    'a modern header without a claim is refused in a session',
    inSession(request('ping'), speaking('2026-07-28')),
    incomplete,
  ),
  row(
    'an unknown header without a claim is refused',
    post(request('ping'), speaking('v999.0.0')),
    unsupported('v999.0.0'),
  ),
  row('an older header without a claim needs no session', post(request('ping'), speaking('2025-03-26')), answered(1)),
  row('a request without header and claim needs no session', post(request('ping')), answered(1)),

  // Sessions
  row(
    'a stateless request ignores a session id',
    async (stage) => stateless('server/discover', {}, { 'Mcp-Session-Id': await stage.shared('2025-11-25') }),
    { ...discovered, headers: { 'Mcp-Session-Id': null } },
  ),
  row(
    'a stateless request ignores an invalid session id',
    stateless('server/discover', {}, { 'Mcp-Session-Id': 'x' }),
    discovered,
  ),
  row(
    'a session uses its own version when the header names another',
    inSession(request('ping'), speaking('2024-11-05')),
    answered(1),
  ),
  ...['v999.0.0', '2025-01-01', '', 'latest', '2025-11-25, 2025-11-25'].map((header) =>
    row(
      `the version "${header}" is refused in a session`,
      inSession(request('ping'), speaking(header)),
      unsupported(header),
    ),
  ),
  row(
    'an unknown version is refused for a notification',
    inSession(notification('notifications/x'), speaking('v9')),
    refused(400, -32022),
  ),
  ...['GET', 'DELETE'].map((method) =>
    row(
      `an unknown version is refused for a ${method}`,
      async (stage) => ({ method, headers: { 'Mcp-Session-Id': await stage.session(), ...speaking('v999.0.0') } }),
      refused(400, -32022),
    ),
  ),

  // Methods that a revision does not have
  ...[
    'initialize',
    'ping',
    'logging/setLevel',
    'resources/subscribe',
    'resources/unsubscribe',
    'unknown/method',
    '',
    'tools/call/',
    'notifications/initialized',
    'rpc.discover',
    'sampling/createMessage',
    'tasks/get',
  ].map((method) =>
    row(
      `the method "${method}" is not found in 2026-07-28`,
      stateless(method, { uri: 'note://1' }),
      refused(404, -32601, 1),
    ),
  ),
  ...['server/discover', 'subscriptions/listen', 'tasks/get', 'unknown/method', '', 'Ping', 'roots/list'].map(
    (method) =>
      row(
        `the method "${method}" is not found in 2025-11-25`,
        inSession(request(method, { notifications: {} })),
        refused(200, -32601, 1),
      ),
  ),

  // initialize
  row('initialize under a modern header is a mismatch', initialize(hello(), speaking('2026-07-28')), mismatch),
  row(
    'initialize with half a claim is a handshake',
    initialize(hello({ _meta: { [versionKey]: '2026-07-28' } })),
    settled('2025-11-25'),
  ),
  row(
    'initialize ignores the headers of stateless requests',
    initialize(hello(), { 'Mcp-Method': 'x', 'Mcp-Name': '\xff' }),
    settled('2025-11-25'),
  ),
  ...Object.entries({
    '2026-07-28': '2025-11-25',
    '2099-01-01': '2025-11-25',
    'v999.0.0': '2025-11-25',
    '2024-10-07': '2025-11-25',
    '': '2025-11-25',
    '2024-11-05': '2024-11-05',
  }).map(([asked, version]) =>
    row(
      `initialize for "${asked}" negotiates ${version}`,
      initialize(hello({ protocolVersion: asked })),
      settled(version),
    ),
  ),
  row('initialize without params is refused', initialize(undefined), incomplete),
  ...[undefined, null, 20251125, ['2025-11-25']].map((protocolVersion) =>
    row(
      `initialize for ${JSON.stringify(protocolVersion)} is refused`,
      initialize(hello({ protocolVersion })),
      incomplete,
    ),
  ),
  row(
    'initialize without capabilities is accepted',
    initialize(hello({ capabilities: undefined })),
    settled('2025-11-25'),
  ),
  ...[null, [], 'text'].map((capabilities) =>
    row(
      `initialize with the capabilities ${JSON.stringify(capabilities)} is refused`,
      initialize(hello({ capabilities })),
      incomplete,
    ),
  ),
  ...[undefined, null, {}, { name: 'c' }, { name: 'c', version: 1 }, 'c'].map((clientInfo) =>
    row(
      `initialize with the clientInfo ${JSON.stringify(clientInfo)} is refused`,
      initialize(hello({ clientInfo })),
      incomplete,
    ),
  ),
  ...Object.entries<Params>({
    'more extensions than an id can hold': { capabilities: { extensions: { 'a/b': { x: 'x'.repeat(900_000) } } } },
    'a longer name than an id can hold': { clientInfo: { name: 'n'.repeat(900_000), version: '1' } },
    'a name of 4,000 characters of three bytes each': { clientInfo: { name: '世'.repeat(4_000), version: '1' } },
  }).map(([what, more]) => row(`initialize with ${what} is refused`, initialize(hello(more)), incomplete)),
  row(
    'initialize with 900,000 unused characters is accepted',
    initialize(hello({ capabilities: { experimental: { x: 'x'.repeat(900_000) } } })),
    settled('2025-11-25'),
  ),
  row(
    'initialize with the id of a session starts another session',
    inSession(request('initialize', hello({ protocolVersion: '2025-06-18' }))),
    settled('2025-06-18'),
  ),
  row('initialize as a notification starts no session', post(notification('initialize', hello())), {
    ...empty(202),
    headers: { 'Mcp-Session-Id': null },
  }),

  // Notifications
  row(
    'a notification under a modern header is accepted',
    post(notification('notifications/cancelled', { requestId: 1 }), speaking('2026-07-28')),
    empty(202),
  ),
  row(
    'a notification with a claim and no header is accepted',
    post(notification('notifications/x', { _meta: envelope() })),
    empty(202),
  ),
  row('a notification without a claim needs no session', post(notification('notifications/initialized')), empty(202)),
]
