/**
 * Parameters of the wrong type, cursors that belong elsewhere, URIs that are none: alone and in a session.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/schema
 */
import { expect } from 'vitest'
import {
  answered,
  failed,
  inSession,
  type Outcome,
  type Params,
  post,
  type Row,
  refused,
  request,
  row,
  said,
  stateless,
} from './hostile-row.ts'

const invalid = refused(200, -32602, 1)
const notFound = refused(200, -32002, 1)

/** The same request, alone and in a session. */
function both(name: string, method: string, params: Params, outcome: Outcome = invalid, inside = outcome): Row[] {
  // Where there is no text to mirror, the header is there all the same, so that the parameter itself is judged.
  const headers = typeof (params.name ?? params.uri) === 'string' ? {} : { 'Mcp-Name': 'x' }
  return [
    row(name, stateless(method, params, headers), outcome),
    row(`${name}, in a session`, inSession(request(method, params)), inside),
  ]
}

const complete = (name: string, more: Params) =>
  both(`completion for ${name} is refused`, 'completion/complete', {
    ref: { type: 'ref/prompt', name: 'review' },
    argument: { name: 'language', value: 'r' },
    ...more,
  })

const json = JSON.stringify
const lists = ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list']

export const parameters: Row[] = [
  // tools/call
  ...[undefined, null, 1, [], ['echo'], {}].flatMap((name) =>
    both(`a tool named ${json(name)} is refused`, 'tools/call', { name }),
  ),
  ...['', 'no such tool', 'ECHO', 'many.', 'secret'].flatMap((name) =>
    both(`a tool "${name}" is unknown`, 'tools/call', { name }),
  ),
  ...[[], ['text'], 'text', 1, true].flatMap((args) =>
    both(`arguments that are ${json(args)} are refused`, 'tools/call', { name: 'echo', arguments: args }),
  ),
  ...[undefined, null, {}, { text: 1 }, { text: null }, { TEXT: 'x' }].flatMap((args) =>
    both(
      `the arguments ${json(args)} are an error for the model`,
      'tools/call',
      { name: 'echo', arguments: args },
      failed(1, expect.stringContaining('text')),
    ),
  ),
  ...both(
    'unknown arguments are an error for the model',
    'tools/call',
    { name: 'nothing', arguments: { a: [1] } },
    failed(1, expect.stringContaining('The tool takes no arguments')),
  ),
  ...both(
    'unknown params are ignored',
    'tools/call',
    { name: 'echo', arguments: { text: 'x' }, task: { ttl: 1 }, a: [{}] },
    said(1, 'x'),
  ),

  // resources
  ...[undefined, null, 1, [], {}].flatMap((uri) =>
    both(`a resource at ${json(uri)} is refused`, 'resources/read', { uri }),
  ),
  ...['', 'note', '//note/1', '/etc/passwd', '1note://1', 'no te://1', '://1', ':'].flatMap((uri) =>
    both(`"${uri}" has no scheme`, 'resources/read', { uri }),
  ),
  ...[
    'note://../1',
    'note://1/..',
    'note:..',
    'file:///a/../../etc/passwd',
    'note://%2e%2e/1',
    'note://%2E.%2F1',
    'note://..%5c1',
    'note://..\\1',
    // What URL parsers remove.
    'note://.%09./1',
    'note://a/%0d.%0a./1',
    'note://a/%20../1',
    // What is decoded twice: by the template and by who resolves its variable.
    'note://%252e%252e/1',
    'note://%25252e./1',
    'note://..%255c1',
    'note://1?path=..',
    'note://1#..',
    'note://a/./1',
    'note://a\\.\\1',
  ].flatMap((uri) => both(`"${uri}" leaves its folder and is refused`, 'resources/read', { uri })),
  ...['note://.\t./1', 'note://.\n./1', 'note://.\r./1', 'note://a\0', 'note://a\x7f'].map((uri) =>
    row(`${json(uri)} has a control character`, inSession(request('resources/read', { uri })), invalid),
  ),
  ...[
    'note://1 2',
    'note://a',
    'note://',
    'note:1',
    'note://1/2',
    'note://1%2F2',
    'note://1%00',
    'note://1?x=1',
    'note://{id}',
    'note://%',
    'note://%zz',
    'note://%252ea',
    'data://',
    'http://127.0.0.1/',
    'javascript:alert(1)',
  ].flatMap((uri) =>
    both(
      `"${uri}" is not found`,
      'resources/read',
      { uri },
      refused(200, -32602, 1, { data: { uri } }),
      refused(200, -32002, 1, { data: { uri } }),
    ),
  ),
  ...Object.entries({
    '300,000 letters': 'a'.repeat(300_000),
    '100,000 escapes': '%41'.repeat(100_000),
    '50,000 segments': './'.repeat(50_000),
    '50,000 braces': '{a}'.repeat(50_000),
  }).map(([what, path]) =>
    row(
      `a URI of ${what} is refused`,
      inSession(request('resources/read', { uri: `note://${path}` })),
      refused(400, -32602, 1),
    ),
  ),
  ...['resources/subscribe', 'resources/unsubscribe'].flatMap((method) =>
    [undefined, null, 1, [], {}].map((uri) =>
      row(`${method} of ${json(uri)} is refused`, inSession(request(method, { uri })), invalid),
    ),
  ),
  row(
    'a subscription to a URI that leaves its folder is refused',
    inSession(request('resources/subscribe', { uri: 'note://%2e%2e/1' })),
    invalid,
  ),
  row(
    'a subscription to an unknown resource is not found',
    inSession(request('resources/subscribe', { uri: 'note://a/b' })),
    notFound,
  ),
  row(
    'unsubscribing without a subscription is accepted',
    inSession(request('resources/unsubscribe', { uri: 'note://1' })),
    answered(1),
  ),

  // prompts
  ...[undefined, null, 1, [], {}].flatMap((name) =>
    both(`a prompt named ${json(name)} is refused`, 'prompts/get', { name }),
  ),
  ...both('an unknown prompt is refused', 'prompts/get', { name: 'no such prompt' }),
  ...[
    undefined,
    [],
    'text',
    1,
    {},
    { language: 1 },
    { language: null },
    { language: ['r'] },
    { language: 'r', a: {} },
  ].flatMap((args) =>
    both(`a prompt with the arguments ${json(args)} is refused`, 'prompts/get', { name: 'review', arguments: args }),
  ),

  // completion
  ...[
    undefined,
    null,
    [],
    'ref/prompt',
    {},
    { type: 'ref/tool', name: 'echo' },
    { type: 'ref/prompt' },
    { type: 'ref/prompt', name: 1 },
    { type: 'ref/prompt', name: 'none' },
    { type: 'ref/resource' },
    { type: 'ref/resource', uri: [] },
    { type: 'ref/resource', uri: 'x://{y}' },
  ].flatMap((ref) => complete(`the ref ${json(ref)}`, { ref })),
  ...[
    undefined,
    null,
    [],
    'language',
    { name: 'language' },
    { value: 'r' },
    { name: 1, value: 'r' },
    { name: 'language', value: 1 },
    { name: 'none', value: 'r' },
    { name: '__proto__', value: 'r' },
    { name: 'constructor', value: 'r' },
  ].flatMap((argument) => complete(`the argument ${json(argument)}`, { argument })),
  ...[[], 'text', { arguments: [] }, { arguments: 'x' }, { arguments: { code: 1 } }].flatMap((context) =>
    complete(`the context ${json(context)}`, { context }),
  ),

  // logging
  ...[undefined, null, '', 'loud', 'INFO', 1, ['info'], {}].map((level) =>
    row(`the level ${json(level)} is invalid`, inSession(request('logging/setLevel', { level })), invalid),
  ),

  // Cursors
  ...['', 'garbage', 'table.AAAA', null, 0, {}, ['a']].flatMap((cursor) =>
    both(`the cursor ${json(cursor)} is refused`, 'tools/list', { cursor }),
  ),
  ...lists.slice(1).flatMap((method) => both(`the empty cursor is refused by ${method}`, method, { cursor: '' })),
  row(
    'a cursor of another list is refused',
    async (stage) => stateless('prompts/list', { cursor: await stage.cursor() }),
    invalid,
  ),
  row(
    'a tampered cursor is refused',
    async (stage) => stateless('tools/list', { cursor: `${await stage.cursor()}A` }),
    invalid,
  ),
  row(
    'a cursor of another server is refused',
    async (stage) => {
      const cursor = await stage.foreignSeals.seal('cursor:tools/list', undefined, { index: 1, after: 'echo' }, 60_000)
      return stateless('tools/list', { cursor })
    },
    invalid,
  ),
  row(
    'a cursor that has expired is refused',
    async (stage) => {
      const cursor = await stage.seals.seal('cursor:tools/list', undefined, { index: 1, after: 'echo' }, -1)
      return stateless('tools/list', { cursor })
    },
    invalid,
  ),
  row(
    'a cursor of a stateless request is accepted in a session',
    async (stage) =>
      post(request('tools/list', { cursor: await stage.cursor() }), {
        'Mcp-Session-Id': await stage.shared('2025-06-18'),
      }),
    answered(1),
  ),
]
