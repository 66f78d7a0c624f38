/**
 * Headers that must say what the body says, and do not, or say it strangely.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#standard-request-headers
 */
import {
  answered,
  type Headers,
  inSession,
  type Params,
  type Row,
  refused,
  request,
  row,
  said,
  stateless,
} from './hostile-row.ts'

const discover = (headers: Headers) => stateless('server/discover', {}, headers)
const echo = (headers: Headers) => stateless('tools/call', { name: 'echo', arguments: { text: 'hi' } }, headers)
const prompt = (name: string, header: string) => stateless('prompts/get', { name }, { 'Mcp-Name': header })
/** A call of the tool whose arguments are mirrored. */
const region = (args: Params, headers: Headers) => stateless('tools/call', { name: 'region', arguments: args }, headers)

const sentinel = (text: string) => `=?base64?${Buffer.from(text).toString('base64')}?=`
/** UTF-8, one character a byte. */
const bytes = (text: string) => Buffer.from(text).toString('latin1')

const mismatch = refused(400, -32020, 1)
const discovered = answered(1, { supportedVersions: ['2026-07-28'] })
const greeted = said(1, 'hi')
const regionSaid = (args: Params) => said(1, JSON.stringify(args))

export const mirrors: Row[] = [
  // MCP-Protocol-Version and Mcp-Method
  row('a request without MCP-Protocol-Version is refused', discover({ 'MCP-Protocol-Version': undefined }), mismatch),
  row('MCP-Protocol-Version twice is refused', discover({ 'mcp-protocol-version': '2026-07-28' }), mismatch),
  row('MCP-Protocol-Version in quotes is refused', discover({ 'MCP-Protocol-Version': '"2026-07-28"' }), mismatch),
  row(
    'blanks around MCP-Protocol-Version are ignored',
    discover({ 'MCP-Protocol-Version': ' 2026-07-28\t' }),
    discovered,
  ),
  row('a request without Mcp-Method is refused', discover({ 'Mcp-Method': undefined }), mismatch),
  row('an empty Mcp-Method is refused', discover({ 'Mcp-Method': '' }), mismatch),
  row('another Mcp-Method is refused', discover({ 'Mcp-Method': 'tools/list' }), mismatch),
  row('Mcp-Method in capitals is refused', discover({ 'Mcp-Method': 'SERVER/DISCOVER' }), mismatch),
  row('Mcp-Method in base64 is refused', discover({ 'Mcp-Method': sentinel('server/discover') }), mismatch),
  row('Mcp-Method twice is refused', discover({ 'mcp-method': 'server/discover' }), mismatch),
  row('Mcp-Method beyond ASCII is refused', discover({ 'Mcp-Method': bytes('server/discöver') }), mismatch),
  row('blanks around Mcp-Method are ignored', discover({ 'Mcp-Method': ' \t server/discover \t' }), discovered),
  row(
    'header names are written in any case',
    discover({
      'MCP-Protocol-Version': undefined,
      'mcp-PROTOCOL-version': '2026-07-28',
      'Mcp-Method': undefined,
      'MCP-METHOD': 'server/discover',
    }),
    discovered,
  ),

  // Mcp-Name
  row('a call without Mcp-Name is refused', echo({ 'Mcp-Name': undefined }), mismatch),
  row(
    'a prompt without Mcp-Name is refused',
    stateless('prompts/get', { name: 'ask' }, { 'Mcp-Name': undefined }),
    mismatch,
  ),
  row(
    'a resource without Mcp-Name is refused',
    stateless('resources/read', { uri: 'data://pixel' }, { 'Mcp-Name': undefined }),
    mismatch,
  ),
  row('an empty Mcp-Name is refused', echo({ 'Mcp-Name': '' }), mismatch),
  row('another Mcp-Name is refused', echo({ 'Mcp-Name': 'add' }), mismatch),
  row('Mcp-Name in capitals is refused', echo({ 'Mcp-Name': 'ECHO' }), mismatch),
  row('Mcp-Name twice is refused', echo({ 'mcp-name': 'echo' }), mismatch),
  row('blanks around Mcp-Name are ignored', echo({ 'Mcp-Name': '  echo\t' }), greeted),
  row('Mcp-Name in base64 is read', echo({ 'Mcp-Name': sentinel('echo') }), greeted),
  row('Mcp-Name in base64 with bits left over is read', echo({ 'Mcp-Name': '=?base64?ZWNobx==?=' }), greeted),
  row('another Mcp-Name in base64 is refused', echo({ 'Mcp-Name': sentinel('add') }), mismatch),
  row('Mcp-Name in base64 without padding is refused', echo({ 'Mcp-Name': '=?base64?ZWNobw?=' }), mismatch),
  row('Mcp-Name in base64 with a foreign letter is refused', echo({ 'Mcp-Name': '=?base64?ZWN!bw==?=' }), mismatch),
  row('Mcp-Name in base64 with a blank is refused', echo({ 'Mcp-Name': '=?base64?ZWNo bw==?=' }), mismatch),
  row('Mcp-Name in base64url is refused', prompt('>>>?', '=?base64?Pj4-Pw==?='), mismatch),
  row('Mcp-Name in base64 of what is not UTF-8 is refused', echo({ 'Mcp-Name': '=?base64?/w==?=' }), mismatch),
  row('Mcp-Name in base64 of nothing is refused', echo({ 'Mcp-Name': '=?base64??=' }), mismatch),
  row('Mcp-Name in markers that overlap is refused', echo({ 'Mcp-Name': '=?base64?=' }), mismatch),
  row('Mcp-Name in BASE64 is refused', echo({ 'Mcp-Name': '=?BASE64?ZWNobw==?=' }), mismatch),
  row('Mcp-Name in base64 in base64 is refused', echo({ 'Mcp-Name': sentinel(sentinel('echo')) }), mismatch),
  row('Mcp-Name in UTF-8 is refused', prompt('ä', bytes('ä')), mismatch),
  row('Mcp-Name in Latin-1 is refused', prompt('ä', 'ä'), mismatch),
  row('Mcp-Name beyond ASCII in base64 is read', prompt('世界', sentinel('世界')), refused(200, -32602, 1)),
  row('Mcp-Name for a method that names nothing is ignored', discover({ 'Mcp-Name': 'anything' }), discovered),

  // Mcp-Param-*
  row(
    'a mirrored argument is served',
    region({ region: 'eu' }, { 'Mcp-Param-Region': 'eu' }),
    regionSaid({ region: 'eu' }),
  ),
  row(
    'its header is written in any case',
    region({ region: 'eu' }, { 'mcp-PARAM-region': 'eu' }),
    regionSaid({ region: 'eu' }),
  ),
  row(
    'blanks around a mirrored argument are ignored',
    region({ region: 'eu' }, { 'Mcp-Param-Region': ' eu ' }),
    regionSaid({ region: 'eu' }),
  ),
  row('a mirrored argument without its header is refused', region({ region: 'eu' }, {}), mismatch),
  row(
    'a mirrored argument with another header is refused',
    region({ region: 'eu' }, { 'Mcp-Param-Region': 'EU' }),
    mismatch,
  ),
  row(
    'a mirrored argument with its header twice is refused',
    region({ region: 'eu' }, { 'Mcp-Param-Region': 'eu', 'mcp-param-region': 'eu' }),
    mismatch,
  ),
  row('a header without the argument it mirrors is refused', region({}, { 'Mcp-Param-Region': 'eu' }), mismatch),
  row(
    'a header for an argument that is null is refused',
    region({ region: null }, { 'Mcp-Param-Region': 'null' }),
    mismatch,
  ),
  row('an empty header without its argument is refused', region({}, { 'Mcp-Param-Region': '=?base64??=' }), mismatch),
  row(
    'an empty argument is mirrored',
    region({ region: '' }, { 'Mcp-Param-Region': '=?base64??=' }),
    regionSaid({ region: '' }),
  ),
  row(
    'an argument in base64 is read',
    region({ region: ' ü\n' }, { 'Mcp-Param-Region': sentinel(' ü\n') }),
    regionSaid({ region: ' ü\n' }),
  ),
  row(
    'an argument that looks like base64 but is not marked is itself',
    region({ region: 'ZXU=' }, { 'Mcp-Param-Region': 'ZXU=' }),
    regionSaid({ region: 'ZXU=' }),
  ),
  row(
    'an argument with the first marker only is itself',
    region({ region: '=?base64?ZXU=' }, { 'Mcp-Param-Region': '=?base64?ZXU=' }),
    regionSaid({ region: '=?base64?ZXU=' }),
  ),
  row(
    'an argument in bad base64 is refused',
    region({ region: 'eu' }, { 'Mcp-Param-Region': '=?base64?ZXU?=' }),
    mismatch,
  ),
  row('an argument in UTF-8 is refused', region({ region: 'ü' }, { 'Mcp-Param-Region': bytes('ü') }), mismatch),
  row('a number is mirrored', region({ count: -7 }, { 'Mcp-Param-Count': '-7' }), regionSaid({ count: -7 })),
  row('42.0 mirrors 42', region({ count: 42 }, { 'Mcp-Param-Count': '42.0' }), regionSaid({ count: 42 })),
  ...['43', 'forty-two', '0x2a', '', '42,42', 'NaN'].map((said) =>
    row(`"${said}" does not mirror 42`, region({ count: 42 }, { 'Mcp-Param-Count': said }), mismatch),
  ),
  row('nothing does not mirror 0', region({ count: 0 }, { 'Mcp-Param-Count': '=?base64??=' }), mismatch),
  row('true is mirrored', region({ dry: true }, { 'Mcp-Param-Dry': 'true' }), regionSaid({ dry: true })),
  row('True does not mirror true', region({ dry: true }, { 'Mcp-Param-Dry': 'True' }), mismatch),
  row('1 does not mirror true', region({ dry: true }, { 'Mcp-Param-Dry': '1' }), mismatch),
  row(
    'an inner argument is mirrored',
    region({ inner: { deep: 'x' } }, { 'Mcp-Param-Deep': 'x' }),
    regionSaid({ deep: 'x' }),
  ),
  row('an inner argument without its header is refused', region({ inner: { deep: 'x' } }, {}), mismatch),
  row('nothing mirrors an object', region({ region: {} }, { 'Mcp-Param-Region': '[object Object]' }), mismatch),
  row('nothing mirrors a list', region({ region: ['eu'] }, { 'Mcp-Param-Region': 'eu' }), mismatch),
  row(
    'nothing mirrors what cannot be text',
    region({ region: { toString: 1 } }, { 'Mcp-Param-Region': 'x' }),
    mismatch,
  ),
  row('a mirrored header without an argument is ignored', region({}, { 'Mcp-Param-Other': '\xff' }), regionSaid({})),
  row(
    'these headers are ignored in a session',
    inSession(request('tools/call', { name: 'region', arguments: { region: 'eu' } }), {
      'Mcp-Method': 'nonsense',
      'Mcp-Name': '\xff',
      'Mcp-Param-Region': 'us',
    }),
    regionSaid({ region: 'eu' }),
  ),
]
