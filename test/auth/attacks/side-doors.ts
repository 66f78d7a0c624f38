/** Other ways to what takes scopes. */
import { type Attack, insufficient, json, newest, type Stage } from './stage.ts'

/** A request of the newest revision with a token that allows nothing. */
const asking = (what: string, method: string, params: object, outcome: unknown, scope = ''): Attack => ({
  name: what,
  by: async (stage) => stage.ask(method, params, { token: await stage.token({ scope }) }),
  outcome,
})

const notFound = (uri: string) => ({ status: 200, code: -32602, message: `Resource not found: ${uri}` })

const toPrompt = { ref: { type: 'ref/prompt', name: 'secret' }, argument: { name: 'name', value: '' } }

const toTemplate = { ref: { type: 'ref/resource', uri: 'note://of/{id}' }, argument: { name: 'id', value: '' } }

const sideDoors: Attack[] = [
  asking('a tool', 'tools/call', { name: 'read' }, insufficient('notes:read')),
  asking(
    'a tool, with the URI of an open resource beside its name',
    'tools/call',
    { name: 'read', uri: 'open://1' },
    insufficient('notes:read'),
  ),
  asking(
    'a tool, with a reference to an open entry',
    'tools/call',
    { name: 'read', ref: { type: 'ref/prompt', name: 'second' } },
    insufficient('notes:read'),
  ),
  asking(
    'a tool whose name is in a list',
    'tools/call',
    { name: ['read'] },
    { status: 400, code: -32020, message: 'Missing header Mcp-Name' },
  ),
  asking(
    'a tool whose name has a space behind it',
    'tools/call',
    { name: 'read ' },
    { status: 400, code: -32020, message: 'Header Mcp-Name does not match params.name in the body' },
  ),
  asking(
    'a tool whose name is in capitals',
    'tools/call',
    { name: 'READ' },
    { status: 200, code: -32602, message: 'Unknown tool: READ' },
  ),
  asking(
    'a tool called __proto__',
    'tools/call',
    { name: '__proto__' },
    { status: 200, code: -32602, message: 'Unknown tool: __proto__' },
  ),
  asking('a prompt', 'prompts/get', { name: 'secret', arguments: { name: 'a' } }, insufficient('prompts')),
  asking(
    'a prompt, with some URI beside its name',
    'prompts/get',
    { name: 'secret', arguments: { name: 'a' }, uri: 'x:y' },
    insufficient('prompts'),
  ),
  asking(
    'a prompt, with the URI of an open resource beside its name',
    'prompts/get',
    { name: 'secret', arguments: { name: 'a' }, uri: 'open://1' },
    insufficient('prompts'),
  ),
  asking('completing a prompt', 'completion/complete', toPrompt, insufficient('prompts')),
  asking(
    'completing a prompt, with some URI beside its name',
    'completion/complete',
    { ...toPrompt, ref: { ...toPrompt.ref, uri: 'open://1' } },
    insufficient('prompts'),
  ),
  asking(
    'completing a prompt, with the name of an open one outside',
    'completion/complete',
    { ...toPrompt, name: 'second', uri: 'open://1' },
    insufficient('prompts'),
  ),
  asking('completing a template', 'completion/complete', toTemplate, insufficient('notes:read')),
  asking(
    'completing a template, with the name of an open prompt',
    'completion/complete',
    { ...toTemplate, ref: { ...toTemplate.ref, name: 'second' } },
    insufficient('notes:read'),
  ),
  asking(
    'completing a template by one of its resources',
    'completion/complete',
    { ...toTemplate, ref: { type: 'ref/resource', uri: 'note://of/1' } },
    insufficient('notes:read'),
  ),
  asking('a resource', 'resources/read', { uri: 'note://fixed' }, insufficient('notes:read')),
  asking(
    'a resource, with the name of an open prompt',
    'resources/read',
    { uri: 'note://fixed', name: 'second' },
    insufficient('notes:read'),
  ),
  asking('a resource of a template', 'resources/read', { uri: 'note://of/1' }, insufficient('notes:read')),
  asking(
    'a resource of a template, percent-encoded',
    'resources/read',
    { uri: 'note://of/%31' },
    insufficient('notes:read'),
  ),
  asking(
    'a resource of a template, the separator percent-encoded',
    'resources/read',
    { uri: 'note://of%2f1' },
    notFound('note://of%2f1'),
  ),
  asking('the template itself', 'resources/read', { uri: 'note://of/{id}' }, insufficient('notes:read')),
  asking('a fixed resource, percent-encoded', 'resources/read', { uri: 'note://%66ixed' }, insufficient('notes:read')),
  asking('a fixed resource, in capitals', 'resources/read', { uri: 'NOTE://FIXED' }, notFound('NOTE://FIXED')),
  asking('a fixed resource, with a query', 'resources/read', { uri: 'note://fixed?a' }, notFound('note://fixed?a')),
  asking('a fixed resource, with a fragment', 'resources/read', { uri: 'note://fixed#a' }, notFound('note://fixed#a')),
  asking(
    'a fixed resource, with ".." from a template',
    'resources/read',
    { uri: 'note://of/../fixed' },
    { status: 200, code: -32602, message: 'params.uri must not contain ".." segments' },
  ),
  asking(
    'a fixed resource, with "..", percent-encoded',
    'resources/read',
    { uri: 'open://%2e%2e%2ffixed' },
    { status: 200, code: -32602, message: 'params.uri must not contain ".." segments' },
  ),
  asking(
    'the lists omit it: tools',
    'tools/list',
    {},
    { status: 200, result: expectList('tools', ['who', 'note_down']) },
  ),
  asking(
    'the lists omit it: prompts',
    'prompts/list',
    {},
    { status: 200, result: expectList('prompts', ['second', 'third']) },
  ),
  asking('the lists omit it: resources', 'resources/list', {}, { status: 200, result: expectList('resources', []) }),
  asking(
    'the lists omit it: templates',
    'resources/templates/list',
    {},
    { status: 200, result: expectList('resourceTemplates', ['open://{id}']) },
  ),
]

/** A list as it is compared: its names, and nothing else of it matters here. */
function expectList(kind: string, names: readonly string[]) {
  return {
    asymmetricMatch: (value: Record<string, { name: string; uriTemplate?: string }[]>) =>
      JSON.stringify(value[kind]?.map((item) => item.uriTemplate ?? item.name)) === JSON.stringify(names),
    toString: () => 'list',
    getExpectedType: () => 'object',
    toAsymmetricMatcher: () => `the ${kind} ${names}`,
  }
}

const message = (id: number, method: string, params: object = {}) => ({ jsonrpc: '2.0', id, method, params })

/** In a session of an older revision, with a token that allows nothing. */
const inSession = (
  what: string,
  sent: unknown,
  outcome: unknown,
  { version = '2025-11-25', scope = '' } = {},
): Attack => ({
  name: what,
  by: async (stage) => {
    const token = await stage.token({ scope })
    return stage.inSession(await stage.session(token, version), token, sent)
  },
  outcome,
})

const batches: Attack[] = [
  inSession(
    'a batch: what is allowed first',
    [message(1, 'tools/call', { name: 'who' }), message(2, 'tools/call', { name: 'read' })],
    insufficient('notes:read'),
    { version: '2025-03-26' },
  ),
  inSession(
    'a batch: what is allowed last',
    [message(1, 'tools/call', { name: 'read' }), message(2, 'tools/call', { name: 'who' })],
    insufficient('notes:read'),
    { version: '2025-03-26' },
  ),
  inSession(
    'a batch that lacks several: all are named',
    [
      message(1, 'tools/call', { name: 'write' }),
      message(2, 'prompts/get', { name: 'secret', arguments: { name: 'a' } }),
      message(3, 'tools/call', { name: 'administer' }),
    ],
    insufficient('notes:read notes:write prompts admin'),
    { version: '2025-03-26' },
  ),
  inSession(
    'a batch of ten',
    Array.from({ length: 10 }, (_, at) => message(at, 'tools/call', { name: 'read' })),
    insufficient('notes:read'),
    { version: '2025-03-26' },
  ),
  inSession('a batch where there are none', [message(1, 'tools/call', { name: 'read' })], insufficient('notes:read'), {
    version: '2025-06-18',
  }),
  ...[
    'tools/call',
    'prompts/get',
    'resources/read',
    'resources/subscribe',
    'resources/unsubscribe',
    'completion/complete',
  ].map((method) => {
    const params = {
      'tools/call': { name: 'read' },
      'prompts/get': { name: 'secret', arguments: { name: 'a' } },
      'completion/complete': toPrompt,
    }[method] ?? { uri: 'note://of/1' }
    const takes = ['prompts/get', 'completion/complete'].includes(method) ? 'prompts' : 'notes:read'
    return inSession(`${method} in a session`, message(1, method, params), insufficient(takes))
  }),
  inSession(
    'subscribing to a template in a session',
    message(1, 'resources/subscribe', { uri: 'note://of/{id}' }),
    insufficient('notes:read'),
  ),
  inSession(
    'a prompt in a session, with some URI beside its name',
    message(1, 'prompts/get', { name: 'secret', arguments: { name: 'a' }, uri: 'open://1' }),
    insufficient('prompts'),
  ),
  inSession(
    'a name with line breaks and quotes is repeated as JSON, and in no header',
    message(1, 'tools/call', { name: 'x"\r\nSet-Cookie: a=b\r\n\u00fc' }),
    { status: 200, code: -32602, message: 'Unknown tool: x"\r\nSet-Cookie: a=b\r\n\u00fc' },
  ),
  inSession(
    'a method with line breaks and quotes is repeated as JSON, and in no header',
    message(1, 'x"\r\nSet-Cookie: a=b'),
    { status: 200, code: -32601, message: 'Method not found: x"\r\nSet-Cookie: a=b' },
  ),
  {
    name: 'a tool as a notification: it has no answer, and no effect',
    by: async (stage) => {
      const token = await stage.token({ scope: '' })
      return stage.inSession(await stage.session(token), token, {
        jsonrpc: '2.0',
        method: 'tools/call',
        params: { name: 'who' },
      })
    },
    outcome: { status: 202 },
  },
  {
    name: 'a tool over HTTP+SSE',
    by: async (stage) => {
      const token = await sseToken(stage, '')
      const { endpoint, stop } = await stage.sse(token)
      const seen = await stage.send({
        token,
        path: endpoint,
        headers: json,
        body: JSON.stringify(message(1, 'tools/call', { name: 'read' })),
      })
      stop()
      return seen
    },
    outcome: {
      ...insufficient('notes:read'),
      challenge: insufficient('notes:read').challenge?.replace('resource/mcp"', 'resource/sse"'),
    },
  },
]

const sseToken = (stage: Stage, scope: string) => stage.token({ aud: new URL('/sse', stage.server.url).href, scope })

const mirrors: Attack[] = [
  {
    name: 'an open tool in the header, a guarded one in the body, with a token that allows neither more',
    by: async (stage) =>
      stage.ask('tools/call', { name: 'read' }, { token: await stage.token({ scope: '' }), named: 'who' }),
    outcome: insufficient('notes:read'),
  },
  {
    name: 'an open tool in the header, a guarded one in the body, with a token that allows both',
    by: async (stage) => stage.ask('tools/call', { name: 'read' }, { token: await stage.token(), named: 'who' }),
    outcome: { status: 400, code: -32020, message: 'Header Mcp-Name does not match params.name in the body' },
  },
  {
    name: 'a harmless method in the header, another in the body',
    by: async (stage) => stage.ask('tools/call', { name: 'read' }, { token: await stage.token(), says: 'tools/list' }),
    outcome: { status: 400, code: -32020, message: 'Header Mcp-Method does not match the method in the body' },
  },
  {
    name: 'no name in the header',
    by: async (stage) => stage.ask('tools/call', { name: 'read' }, { token: await stage.token(), named: null }),
    outcome: { status: 400, code: -32020, message: 'Missing header Mcp-Name' },
  },
  {
    name: 'another protocol version in the header than in the body',
    by: async (stage) =>
      stage.ask('tools/call', { name: 'read' }, { token: await stage.token(), revision: '2025-11-25' }),
    outcome: { status: 400, code: -32020, message: `MCP-Protocol-Version is 2025-11-25, but the body has ${newest}` },
  },
  {
    name: 'two names in the body: the last one counts, and it is the guarded one',
    by: async (stage) => {
      const sent = stage.stateless('tools/call', { name: 'who' }, { token: await stage.token({ scope: '' }) })
      return stage.send({ ...sent, body: sent.body?.replace('"name":"who"', '"name":"who","name":"read"') as string })
    },
    outcome: insufficient('notes:read'),
  },
]

export const sideways: Readonly<Record<string, readonly Attack[]>> = {
  'side doors to what takes scopes': sideDoors,
  'batches and sessions without scopes': batches,
  'headers that say otherwise': mirrors,
}
