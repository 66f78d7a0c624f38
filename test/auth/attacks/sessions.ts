/** Sessions in the hands of others, and ids that nobody was given. */
import { events } from '../../../worker/client/wire.ts'
import { cursorOf } from './handles.ts'
import { everyOther } from './people.ts'
import {
  type Attack,
  anonymous,
  handshaking,
  invalid,
  json,
  type Stage,
  stream,
  unique,
  unknownSession,
} from './stage.ts'

const message = (method: string, params: object = {}, id = 1) => ({ jsonrpc: '2.0', id, method, params })

const who = message('tools/call', { name: 'who', arguments: {} })

const asAda = { status: 200, result: JSON.stringify(['ada', 'client', null, ['notes:read']]) }

const inSession = (session: string) => ({ ...json, 'Mcp-Session-Id': session })

/** And ada goes on as if nothing had been. */
const unharmed = async (stage: Stage, session: string, adas: string, seen: unknown) => {
  const after = await stage.inSession(session, adas, message('ping', {}, 99))
  return [seen, after.status]
}

const theft: Attack[] = [
  ...everyOther(
    'a request in a stolen session',
    async (stage, theirs, adas) => {
      const session = await stage.session(adas)
      return unharmed(stage, session, adas, await stage.inSession(session, theirs, who))
    },
    [unknownSession, 200],
  ),
  ...everyOther(
    'ending a stolen session',
    async (stage, theirs, adas) => {
      const session = await stage.session(adas)
      return unharmed(
        stage,
        session,
        adas,
        await stage.send({ token: theirs, http: 'DELETE', headers: inSession(session) }),
      )
    },
    [unknownSession, 200],
  ),
  ...everyOther(
    'listening to a stolen session',
    async (stage, theirs, adas) => {
      const session = await stage.session(adas)
      const headers = { ...stream, 'Mcp-Session-Id': session }
      return unharmed(stage, session, adas, await stage.send({ token: theirs, http: 'GET', headers }))
    },
    [unknownSession, 200],
  ),
  ...handshaking.slice(0, 3).map(
    (version): Attack => ({
      name: `a stolen session of ${version}`,
      by: async (stage) =>
        stage.inSession(await stage.session(await stage.token(), version), await stage.token({ sub: 'bob' }), who),
      outcome: unknownSession,
    }),
  ),
  {
    name: 'resuming the stream of a stolen session after an event of it',
    by: async (stage) => {
      const [adas, bobs] = [await stage.token(), await stage.token({ sub: 'bob' })]
      const session = await stage.session(adas)
      const stop = new AbortController()
      const headers = { ...stream, 'Mcp-Session-Id': session }
      const heard = events(await stage.fetch({ token: adas, http: 'GET', headers }, stop.signal))
      const id = (await heard.next()).value?.id ?? ''
      const seen = await stage.send({ token: bobs, http: 'GET', headers: { ...headers, 'Last-Event-ID': id } })
      stop.abort()
      return { seen, hasEvent: id !== '' }
    },
    outcome: { seen: unknownSession, hasEvent: true },
  },
  {
    name: 'an event id of one session in another session of the attacker',
    by: async (stage) => {
      const [adas, bobs] = [await stage.token(), await stage.token({ sub: 'bob' })]
      const stop = new AbortController()
      const headers = { ...stream, 'Mcp-Session-Id': await stage.session(adas) }
      const heard = events(await stage.fetch({ token: adas, http: 'GET', headers }, stop.signal))
      const id = (await heard.next()).value?.id ?? ''
      const own = { ...stream, 'Mcp-Session-Id': await stage.session(bobs), 'Last-Event-ID': id }
      const seen = await stage.send({ token: bobs, http: 'GET', headers: own })
      stop.abort()
      return { ...seen, message: seen.message?.replace(id, '<id>') }
    },
    outcome: {
      status: 400,
      code: -32600,
      message: 'Last-Event-ID <id> is no longer in the log of this session: open a new stream',
    },
  },
  {
    name: 'a response to an input request of another principal is ignored, and the request stays open',
    by: async (stage) => {
      const [adas, bobs] = [await stage.token(), await stage.token({ sub: 'bob' })]
      const session = await stage.session(adas)
      const asked = await stage.fetch({
        token: adas,
        headers: inSession(session),
        body: JSON.stringify(message('tools/call', { name: 'ask', arguments: {} })),
      })
      const heard = events(asked)
      let question: { id?: string; method?: string } = {}
      while (question.method !== 'elicitation/create') {
        const { value, done } = await heard.next()
        if (done) throw new Error('Nothing was asked')
        question = value.data ? JSON.parse(value.data) : {}
      }
      const answer = (word: string) => ({
        jsonrpc: '2.0',
        id: question.id,
        result: { action: 'accept', content: { word } },
      })
      const stolen = await stage.inSession(session, bobs, answer('evil'))
      const own = await stage.inSession(session, adas, answer('good'))
      let result: unknown
      for await (const { data } of heard) result = data === '' ? result : JSON.parse(data).result.content[0].text
      return [stolen, own, result]
    },
    outcome: [unknownSession, { status: 202 }, 'good'],
    ran: ['ask'],
  },
  {
    name: 'cancelling a call of another principal',
    by: async (stage) => {
      const session = await stage.session(await stage.token())
      const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }
      return stage.inSession(session, await stage.token({ sub: 'bob' }), cancelled)
    },
    outcome: unknownSession,
  },
  {
    name: 'a session id without a token',
    by: async (stage) => stage.inSession(await stage.session(await stage.token()), undefined, who),
    outcome: anonymous,
  },
  {
    name: 'a session with an expired token',
    by: async (stage) => {
      const session = await stage.session(await stage.token())
      return stage.inSession(session, await stage.token({ exp: Math.floor(Date.now() / 1000) - 60 }), who)
    },
    outcome: invalid('The token has expired'),
  },
  {
    name: 'listening and ending without a token',
    by: async (stage) => {
      const headers = { ...stream, 'Mcp-Session-Id': await stage.session(await stage.token()) }
      return [await stage.send({ http: 'GET', headers }), await stage.send({ http: 'DELETE', headers })]
    },
    outcome: [anonymous, anonymous],
  },
  {
    name: 'a new token of the same principal continues the session',
    by: async (stage) =>
      stage.inSession(await stage.session(await stage.token()), await stage.token({ jti: unique() }), who),
    outcome: asAda,
    ran: ['who'],
  },
  {
    name: 'a session that has ended, by its owner',
    by: async (stage) => {
      const token = await stage.token()
      const session = await stage.session(token)
      const ended = await stage.send({ token, http: 'DELETE', headers: inSession(session) })
      return [ended, await stage.inSession(session, token, message('tools/list'))]
    },
    outcome: [{ status: 204 }, unknownSession],
  },
]

/** Ids that nobody was given. */
const ids: Readonly<Record<string, (real: string, stage: Stage) => string | Promise<string>>> = {
  "one of the attacker's choice": () => 'fixed-by-the-attacker',
  'a UUID': () => unique(),
  'an empty one': () => '',
  'a path': () => '../../etc/passwd',
  '__proto__.a': () => '__proto__.a',
  'a long one': () => `a.${'A'.repeat(8_000)}`,
  'a real one without its last character': (real) => real.slice(0, -1),
  'a real one with one more': (real) => `${real}A`,
  'a real one with its last character changed': (real) => real.slice(0, -1) + (real.endsWith('A') ? 'B' : 'A'),
  'a real one in capitals': (real) => real.toUpperCase(),
  'a real one twice': (real) => `${real}${real}`,
  'two real ones with a comma': (real) => `${real}, ${real}`,
  'a real one without its key': (real) => real.slice(real.indexOf('.')),
  'a real one under another key': (real) => `x${real}`,
  'the endpoint of an HTTP+SSE session': async (_, stage) => {
    const { endpoint, stop } = await stage.sse(await stage.token())
    stop()
    return new URL(endpoint, stage.server.url).searchParams.get('session') as string
  },
  'a cursor': async (_, stage) => cursorOf(stage, await stage.token()),
}

const fixation: Attack[] = [
  ...Object.entries(ids).map(
    ([what, id]): Attack => ({
      name: `a made-up session id: ${what}`,
      by: async (stage) => {
        const token = await stage.token()
        return stage.inSession(await id(await stage.session(token), stage), token, who)
      },
      outcome: unknownSession,
    }),
  ),
  {
    name: 'initialize with an id of the attacker gets another id',
    by: async (stage) => {
      const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'a', version: '1' } }
      const headers = inSession('fixed-by-the-attacker')
      const response = await stage.fetch({
        token: await stage.token(),
        headers,
        body: JSON.stringify(message('initialize', params)),
      })
      await response.text()
      const id = response.headers.get('Mcp-Session-Id') ?? ''
      return { status: response.status, isOther: id !== '' && !id.includes('fixed-by-the-attacker') }
    },
    outcome: { status: 200, isOther: true },
  },
  {
    name: 'initialize with an id of Ada starts a session of the attacker',
    by: async (stage) => {
      const [adas, bobs] = [await stage.token(), await stage.token({ sub: 'bob' })]
      const session = await stage.session(adas)
      const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'a', version: '1' } }
      const response = await stage.fetch({
        token: bobs,
        headers: inSession(session),
        body: JSON.stringify(message('initialize', params)),
      })
      await response.text()
      const own = response.headers.get('Mcp-Session-Id') as string
      return [own === session, await stage.inSession(own, bobs, who), await stage.inSession(own, adas, who)]
    },
    outcome: [false, { status: 200, result: JSON.stringify(['bob', 'client', null, ['notes:read']]) }, unknownSession],
    ran: ['who'],
  },
  {
    name: 'an id in the query is ignored',
    by: async (stage) => {
      const token = await stage.token()
      const path = `/mcp?Mcp-Session-Id=${await stage.session(token)}&session=a`
      return stage.send({ token, path, headers: json, body: JSON.stringify(who) })
    },
    outcome: asAda,
    ran: ['who'],
  },
]

const sse: Attack[] = [
  ...everyOther(
    'posting into a stolen HTTP+SSE session',
    async (stage, theirs, adas) => {
      const { endpoint, stop } = await stage.sse(adas)
      const seen = await stage.send({ token: theirs, path: endpoint, headers: json, body: JSON.stringify(who) })
      stop()
      return seen
    },
    unknownSession,
  ),
  {
    name: 'posting into an HTTP+SSE session without a token',
    by: async (stage) => {
      const { endpoint, stop } = await stage.sse(await stage.token())
      const seen = await stage.send({ path: endpoint, headers: json, body: JSON.stringify(who) })
      stop()
      return seen
    },
    outcome: { ...anonymous, challenge: anonymous.challenge?.replace('resource/mcp"', 'resource/sse"') },
  },
  {
    name: 'a new token of the same principal continues an HTTP+SSE session',
    by: async (stage) => {
      const { endpoint, stop } = await stage.sse(await stage.token())
      const body = JSON.stringify(message('ping'))
      const seen = await stage.send({
        token: await stage.token({ jti: unique() }),
        path: endpoint,
        headers: json,
        body,
      })
      stop()
      return seen
    },
    outcome: { status: 202 },
  },
  {
    name: 'the id of a session in place of an HTTP+SSE session',
    by: async (stage) => {
      const token = await stage.token()
      const path = `/messages?session=${encodeURIComponent(await stage.session(token))}`
      return stage.send({ token, path, headers: json, body: JSON.stringify(who) })
    },
    outcome: unknownSession,
  },
]

export const sessions: Readonly<Record<string, readonly Attack[]>> = {
  'stolen sessions': theft,
  'made-up sessions': fixation,
  'stolen HTTP+SSE sessions': sse,
}
