/** Tokens that allow less than before, or are good no longer. */
import { events } from '../../../worker/client/wire.ts'
import { type Attack, insufficient, invalid, json, type Stage, stream } from './stage.ts'
import { wire } from './wire.ts'

const message = (method: string, params: object = {}, id = 1) => ({ jsonrpc: '2.0', id, method, params })

const downgrades: Attack[] = [
  ...(['tools/call', 'resources/read'] as const).map(
    (method): Attack => ({
      name: `${method} in a session that started with more scopes than the token has now`,
      by: async (stage) => {
        const session = await stage.session(await stage.token())
        const params = method === 'tools/call' ? { name: 'read', arguments: {} } : { uri: 'note://fixed' }
        return stage.inSession(session, await stage.token({ scope: '' }), message(method, params))
      },
      outcome: insufficient('notes:read'),
    }),
  ),
  {
    name: 'an input response to a call that requires a scope which the token no longer has',
    by: async (stage) => {
      const first = await stage.fetch(
        stage.stateless('tools/call', { name: 'ask', arguments: {} }, { token: await stage.token() }),
      )
      const { requestState } = ((await first.json()) as { result: { requestState: string } }).result
      const params = { name: 'ask', arguments: {}, requestState, inputResponses: answers }
      return stage.ask('tools/call', params, { token: await stage.token({ scope: '' }) })
    },
    outcome: insufficient('notes:read'),
  },
  {
    name: 'a subscription that requires a scope which the token no longer has gets no notification',
    alone: true,
    by: async (stage) => {
      const session = await stage.session(await stage.token())
      const subscribed = await stage.inSession(
        session,
        await stage.token(),
        message('resources/subscribe', { uri: 'note://of/1' }),
      )
      const token = await stage.token({ scope: '' })
      const stop = new AbortController()
      const headers = { ...stream, 'Mcp-Session-Id': session }
      const heard = events(await stage.fetch({ token, http: 'GET', headers }, stop.signal))
      await stage.call(token, 'touch')
      const told: string[] = []
      // The list of tools changes last, for everybody.
      while (told.at(-1) !== 'notifications/tools/list_changed') {
        const { value, done } = await heard.next()
        if (done) throw new Error('The stream has ended')
        if (value.data) told.push(JSON.parse(value.data).method)
      }
      stop.abort()
      return [subscribed.status, told]
    },
    outcome: [200, ['notifications/tools/list_changed']],
  },
  {
    name: 'a request in an HTTP+SSE session that started with more scopes than the token has now',
    by: async (stage) => {
      const { endpoint, stop } = await stage.sse(await stage.token())
      const body = JSON.stringify(message('tools/call', { name: 'read', arguments: {} }))
      const seen = await stage.send({ token: await stage.token({ scope: '' }), path: endpoint, headers: json, body })
      stop()
      return seen
    },
    outcome: {
      ...insufficient('notes:read'),
      challenge: insufficient('notes:read').challenge?.replace('resource/mcp"', 'resource/sse"'),
    },
  },
  {
    name: 'a token that expires while it is cached is refused',
    by: async (stage) => {
      // Good for two seconds more, with the thirty that clocks may differ.
      const token = await stage.token({ exp: Math.floor(Date.now() / 1000) - 28, scope: '' })
      const first = await stage.ask('prompts/list', {}, { token })
      let last = first
      while (last.status === 200) last = await stage.ask('prompts/list', {}, { token })
      return [first.status, last]
    },
    outcome: [200, invalid('The token has expired')],
  },
  {
    name: 'a token that is cached for one host name is refused for another',
    by: async (stage) => {
      const token = await stage.token()
      const lines = [`Host: localhost:${stage.server.url.port}`, `Authorization: Bearer ${token}`]
      return [
        await stage.call(token),
        await stage.raw(await wire(stage, lines, { host: false })),
        await stage.call(token),
      ]
    },
    outcome: [
      { status: 200, result: 'read' },
      {
        ...invalid('The token is for a different audience: this server accepts http://localhost/mcp'),
        challenge: invalid(
          'The token is for a different audience: this server accepts http://localhost/mcp',
        ).challenge?.replace('http://here/', 'http://localhost/'),
      },
      { status: 200, result: 'read' },
    ],
    ran: ['read', 'read'],
  },
  ...[undefined, 'other', 'ACME'].map(
    (org_id): Attack => ({
      name: `changes of a tenant, heard by somebody whose tenant is ${org_id === undefined ? 'left out' : JSON.stringify(org_id)}`,
      alone: true,
      by: async (stage) => {
        const token = await stage.token({ scope: 'prompts', ...(org_id !== undefined && { org_id }) })
        const notifications = { toolsListChanged: true, promptsListChanged: true }
        return toldUntilTools(stage, stage.stateless('subscriptions/listen', { notifications }, { token }), token)
      },
      outcome: ['notifications/subscriptions/acknowledged', 'notifications/tools/list_changed'],
    }),
  ),
  {
    name: 'changes of a tenant, for a subscriber of that tenant',
    alone: true,
    by: async (stage) => {
      const token = await stage.token({ scope: 'prompts', org_id: 'acme' })
      const notifications = { toolsListChanged: true, promptsListChanged: true }
      return toldUntilTools(stage, stage.stateless('subscriptions/listen', { notifications }, { token }), token)
    },
    outcome: [
      'notifications/prompts/list_changed',
      'notifications/subscriptions/acknowledged',
      'notifications/tools/list_changed',
    ],
  },
  {
    name: 'changes of a tenant, in a session of another tenant',
    alone: true,
    by: async (stage) => {
      const token = await stage.token({ scope: 'prompts', org_id: 'other' })
      const headers = { ...stream, 'Mcp-Session-Id': await stage.session(token) }
      return toldUntilTools(stage, { token, http: 'GET', headers }, token)
    },
    outcome: ['notifications/tools/list_changed'],
  },
  {
    name: 'subscriptions/listen to a resource that requires a scope which the token lacks omits it',
    by: async (stage) => {
      const notifications = {
        toolsListChanged: true,
        resourceSubscriptions: ['note://of/1', 'note://of/{id}', 'note://fixed', 'open://1'],
      }
      const token = await stage.token({ scope: '' })
      const stop = new AbortController()
      const heard = events(
        await stage.fetch(stage.stateless('subscriptions/listen', { notifications }, { token }), stop.signal),
      )
      const { value } = await heard.next()
      stop.abort()
      return JSON.parse(value?.data ?? 'null').params.notifications
    },
    outcome: { toolsListChanged: true, resourceSubscriptions: ['open://1'] },
  },
]

/**
 * The methods that a stream tells of, sorted, up to the change that everybody hears. What changes soon after it has changed
 * is told a little later: only when everybody has heard twice, what was changed first has been told as well.
 */
async function toldUntilTools(stage: Stage, sent: Parameters<Stage['fetch']>[0], token: string): Promise<string[]> {
  const stop = new AbortController()
  const response = await stage.fetch(sent, stop.signal)
  const heard = events(response)
  const told: string[] = []
  for (const times of [1, 2]) {
    await stage.call(token, 'touch_tenant')
    while (told.filter((method) => method === 'notifications/tools/list_changed').length < times) {
      const { value, done } = await heard.next()
      if (done) throw new Error('The stream has ended')
      if (value.data) told.push(JSON.parse(value.data).method)
    }
  }
  stop.abort()
  return [...new Set(told)].sort()
}

const answers = { word: { action: 'accept', content: { word: 'evil' } } }

export const downgraded: Readonly<Record<string, readonly Attack[]>> = {
  'tokens that allow less than before': downgrades,
}
