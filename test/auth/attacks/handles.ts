/** Cursors, requestStates and handles of states in the hands of others, and what is kept for somebody else. */
import { by, claims, compact } from './forge.ts'
import { everyOther, others } from './people.ts'
import { type Attack, invalid, type Stage, unique, unknownKey } from './stage.ts'

const message = (method: string, params: object = {}, id = 1) => ({ jsonrpc: '2.0', id, method, params })

const asAda = { status: 200, result: JSON.stringify(['ada', 'client', null, ['notes:read']]) }

const invalidCursor = { status: 200, code: -32602, message: 'Invalid cursor: list again from the first page' }

const invalidState = {
  status: 200,
  code: -32602,
  message: 'params.requestState is not valid for this request: send the request without it',
}

const unknownBasket = {
  status: 200,
  result: 'This handle of the state "basket" is unknown or expired: get a new one',
}

const answers = { word: { action: 'accept', content: { word: 'evil' } } }

export async function cursorOf(stage: Stage, token: string, method = 'tools/list'): Promise<string> {
  const response = await stage.fetch(stage.stateless(method, {}, { token }))
  return ((await response.json()) as { result: { nextCursor: string } }).result.nextCursor
}

const sessionOf = (stage: Stage, token: string) => stage.session(token)

async function stateOf(stage: Stage, token: string): Promise<string> {
  const response = await stage.fetch(stage.stateless('tools/call', { name: 'ask', arguments: {} }, { token }))
  return ((await response.json()) as { result: { requestState: string } }).result.requestState
}

const handles: Attack[] = [
  ...everyOther(
    'a stolen cursor',
    async (stage, theirs, adas) => stage.ask('tools/list', { cursor: await cursorOf(stage, adas) }, { token: theirs }),
    invalidCursor,
  ),
  ...everyOther(
    'a stolen requestState',
    async (stage, theirs, adas) => {
      const params = { name: 'ask', arguments: {}, requestState: await stateOf(stage, adas), inputResponses: answers }
      return stage.ask('tools/call', params, { token: theirs })
    },
    invalidState,
  ),
  ...everyOther(
    'a stolen handle',
    async (stage, theirs, adas) => {
      const { result: basket } = await stage.call(adas, 'new_basket')
      return stage.call(theirs, 'add', { basket })
    },
    unknownBasket,
  ),
  ...['a stranger with the same name at another issuer', 'another person'].map(
    (what): Attack => ({
      name: `the state of a user is not available to ${what}`,
      by: async (stage) => {
        await stage.call(await stage.token(), 'note_down', { entry: 'my secret' })
        const other =
          what === 'another person'
            ? others['another person']
            : others['a person of the same name at another accepted issuer']
        return [await stage.call(await other?.(stage), 'look_up'), await stage.call(await stage.token(), 'look_up')]
      },
      outcome: [
        { status: 200, result: 'nothing' },
        { status: 200, result: 'my secret' },
      ],
    }),
  ),
  {
    name: 'a cursor of another list',
    by: async (stage) => {
      const token = await stage.token()
      return stage.ask(
        'tools/list',
        { cursor: await cursorOf(stage, await stage.token({ scope: 'prompts' }), 'prompts/list') },
        { token },
      )
    },
    outcome: invalidCursor,
  },
  ...['', 'AAAA', '0', '__proto__.A', 7, null, {}, ['a']].map(
    (cursor): Attack => ({
      name: `a made-up cursor: ${JSON.stringify(cursor)}`,
      by: async (stage) => stage.ask('tools/list', { cursor }, { token: await stage.token() }),
      outcome: invalidCursor,
    }),
  ),
  ...['', 'AAAA', 7, null, {}, ['a']].map(
    (requestState): Attack => ({
      name: `a made-up requestState: ${JSON.stringify(requestState)}`,
      by: async (stage) =>
        stage.ask(
          'tools/call',
          { name: 'ask', arguments: {}, requestState, inputResponses: answers },
          { token: await stage.token() },
        ),
      outcome: invalidState,
    }),
  ),
  {
    name: 'a requestState with other arguments',
    by: async (stage) => {
      const token = await stage.token()
      const params = {
        name: 'ask',
        arguments: { other: 1 },
        requestState: await stateOf(stage, token),
        inputResponses: answers,
      }
      return stage.ask('tools/call', params, { token })
    },
    outcome: invalidState,
  },
  {
    name: 'a requestState of another tool',
    by: async (stage) => {
      const token = await stage.token()
      const params = { name: 'read', arguments: {}, requestState: await stateOf(stage, token), inputResponses: answers }
      return stage.ask('tools/call', params, { token })
    },
    outcome: invalidState,
  },
  {
    name: 'a requestState with one character changed',
    by: async (stage) => {
      const token = await stage.token()
      const state = await stateOf(stage, token)
      const requestState = `${state.slice(0, -5)}${state.at(-5) === 'A' ? 'B' : 'A'}${state.slice(-4)}`
      return stage.ask('tools/call', { name: 'ask', arguments: {}, requestState, inputResponses: answers }, { token })
    },
    outcome: invalidState,
  },
  ...Object.entries({ cursor: cursorOf, session: sessionOf, requestState: stateOf }).map(
    ([what, made]): Attack => ({
      name: `a ${what} as the handle of a state`,
      by: async (stage) => {
        const token = await stage.token()
        return stage.call(token, 'add', { basket: await made(stage, token) })
      },
      outcome: unknownBasket,
    }),
  ),
  {
    name: 'a cursor of a token with more scopes: the next page has the entries of the current token',
    by: async (stage) => {
      const cursor = await cursorOf(stage, await stage.token({ scope: 'admin prompts' }))
      const { result } = await stage.ask('tools/list', { cursor }, { token: await stage.token({ scope: '' }) })
      return (result as { tools: { name: string }[] }).tools.map(({ name }) => name)
    },
    outcome: ['note_down', 'look_up'],
  },
  {
    name: 'a handle with a new token of the same principal, in another session, is accepted',
    by: async (stage) => {
      const { result: basket } = await stage.call(await stage.token(), 'new_basket')
      const token = await stage.token({ jti: unique() })
      return stage.inSession(
        await stage.session(token),
        token,
        message('tools/call', { name: 'add', arguments: { basket } }),
      )
    },
    outcome: { status: 200, result: '1' },
  },
]

/** The second issuer speaks for itself only. */
const deputies: Attack[] = [
  {
    name: 'a token of the other issuer is for another principal',
    by: async (stage) =>
      stage.call(await others['a person of the same name at another accepted issuer']?.(stage), 'who'),
    outcome: asAda,
    ran: ['who'],
  },
  {
    name: 'a fetch of a handler does not have the token of its caller',
    by: async (stage) => {
      const carried: unknown[] = []
      stage.issuer.instead.set('/ran/who', ({ headers }, response) => {
        carried.push(headers.authorization, headers.cookie, headers['mcp-session-id'])
        response.end()
      })
      const { status } = await stage.call(await stage.token(), 'who')
      stage.issuer.instead.delete('/ran/who')
      return { status, carried }
    },
    outcome: { status: 200, carried: [undefined, undefined, undefined] },
    ran: ['who'],
  },
  {
    name: "a token of the first issuer, signed with the other's key under the other's kid",
    by: (stage) => {
      const [key] = stage.other.keys
      if (!key) throw new Error('There is no key')
      return stage.call(compact({ alg: 'ES256', kid: key.kid }, claims(stage), by(key)))
    },
    outcome: unknownKey,
  },
  {
    name: 'a token for the other issuer itself',
    by: async (stage) => stage.call(stage.keep(await stage.other.token(stage.other.issuer))),
    outcome: invalid('The token is for a different audience: this server accepts http://here/mcp'),
  },
]

export const handedOut: Readonly<Record<string, readonly Attack[]>> = {
  'stolen and made-up handles': handles,
  'the confused deputy': deputies,
}
