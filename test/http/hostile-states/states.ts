/**
 * States that are none, belong elsewhere, or have had their day; each comes with an honest answer.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
 */
import { emptyJournal } from '../../../worker/engine/journal.ts'
import { answeredAgain, asks, badState, goesOn, greeted, type Row, refused, row, unread } from './row.ts'
import {
  bytesIn,
  firstCaseChanged,
  flippedIn,
  grafted,
  idOf,
  otherCase,
  type Part,
  respelt,
  sealedIn,
  withId,
  without,
  withSealed,
} from './sealed-text.ts'
import { ada, honest, life, purposeOf, type Round, type Stage } from './stage.ts'

const json = JSON.stringify
const inputResponses = honest

/** The call once more, with this state and an honest answer. */
const bringing = (requestState: unknown, round: Round = {}): Round => ({
  ...round,
  more: { requestState, inputResponses, ...round.more },
})

/** What becomes of a good state, on a call like the one that was given it. */
const changed =
  (change: (state: string) => unknown, round: Round = {}) =>
  async (stage: Stage) =>
    bringing(change(await stage.state(round)), round)

/** A good state, on another call. */
const moved = (from: Round, to: Round) => async (stage: Stage) => bringing(await stage.state(from), to)

/** Sealed here as the Worker does it, as far as nothing else is said. */
type Forged = {
  key?: 'old'
  purpose?: string
  by?: typeof ada | undefined
  age?: number
  life?: number
  value?: unknown
}

const forged =
  (more: Forged = {}, round: Round = {}) =>
  async (stage: Stage) => {
    const { key, purpose = await purposeOf('tools/call', 'ask'), age = 0, value = { journal: emptyJournal } } = more
    const seals = stage.seals(key, () => Date.now() - age)
    return bringing(await seals.seal(purpose, 'by' in more ? more.by : ada, value, more.life ?? life), round)
  }

/** A good state that has all of this in its text. */
const spelt = (wanted: (state: string) => boolean, change: (state: string) => string) => async (stage: Stage) => {
  for (let pad = ''; ; pad += 'x') {
    const round = await forged({ value: { journal: emptyJournal, pad } })(stage)
    const state = round.more?.requestState as string
    if (wanted(state)) return bringing(change(state))
  }
}
const hasSpareBits = (state: string) => bytesIn(state).length % 3 > 0
const needsPadding = hasSpareBits
const hasBoth = (state: string) => /-/.test(sealedIn(state)) && /_/.test(sealedIn(state))

const same = (state: string) => state

const kinds: unknown[] = [null, true, false, 0, 1, 1.5, {}, [], '', ' ', 'null', 'garbage']
const shapes = ['.', '..', 'new', 'new.', 'new..', '.AAAA', 'new.AAAA', 'new.%', 'new.\u0000', 'new.Ä', '\ud800.AAAA']
const ids = [
  '',
  'old',
  'NEW',
  'New',
  'new ',
  ' new',
  'ne',
  'neww',
  'n\u0435w',
  '__proto__',
  'constructor',
  'toString',
  '0',
]
const parts: Part[] = ['iv', 'body', 'tag']

const notAState: Row[] = [
  ...kinds.map((state) => row(`the state ${json(state)} is invalid`, () => bringing(state), badState)),
  ...shapes.map((state) => row(`the string ${json(state)} is invalid`, () => bringing(state), badState)),
  row(
    'a list with a state is invalid',
    changed((state) => [state]),
    badState,
  ),
  row(
    'an object with a state is invalid',
    changed((state) => ({ state, toString: state })),
    badState,
  ),
  row('a string of the maximum length is invalid', () => bringing(`new.${'A'.repeat(393_212)}`), badState),
  row(
    'a string above the maximum length is refused',
    () => bringing(`new.${'A'.repeat(393_213)}`),
    refused('params.requestState has 393217 characters: this server accepts at most 393216', 400),
  ),
  row(
    'zeros of the length of a state are invalid',
    changed((state) => withSealed(state, Buffer.alloc(bytesIn(state).length).toString('base64url'))),
    badState,
  ),
  row(
    'an unsealed journal is invalid',
    () => bringing(`new.${Buffer.from(json([Date.now() + life, { journal: emptyJournal }])).toString('base64url')}`),
    badState,
  ),
  row('a journal as an object is invalid', () => bringing({ journal: emptyJournal }), badState),
  row(
    'a token without a signature is invalid',
    () => bringing(`${Buffer.from('{"alg":"none"}').toString('base64url')}.e30.`),
    badState,
  ),
]

const tampered: Row[] = [
  row('an unchanged state is accepted', changed(same), greeted),
  ...ids.map((id) =>
    row(
      `a state under the key ${json(id)} is refused`,
      changed((state) => withId(id, state)),
      badState,
    ),
  ),
  ...parts.flatMap((name) =>
    (['start', 'middle', 'end'] as const).flatMap((where) =>
      [0x01, 0x80].map((mask) =>
        row(
          `a state with bit ${mask} at the ${where} of its ${name} flipped is refused`,
          changed((state) => flippedIn(state, name, where, mask)),
          badState,
        ),
      ),
    ),
  ),
  ...parts.flatMap((name) => [
    row(
      `a state with the ${name} of another one is refused`,
      async (stage: Stage) => bringing(grafted(await stage.state(), name, await stage.state())),
      badState,
    ),
    row(
      `a state with zeros for its ${name} is refused`,
      changed((state) => without(state, name, 'zeros')),
      badState,
    ),
    row(
      `a state without its ${name} is refused`,
      changed((state) => without(state, name, 'nothing')),
      badState,
    ),
  ]),

  // Its spelling
  row('a state with one letter in the other case is refused', changed(firstCaseChanged), badState),
  row(
    'a state in capitals is refused',
    changed((state) => withSealed(state, sealedIn(state).toUpperCase())),
    badState,
  ),
  row(
    'a state under its key in capitals is refused',
    changed((state) => withId(otherCase(idOf(state)), state)),
    badState,
  ),
  row(
    'a state with padding is refused',
    spelt(needsPadding, (state) => state.padEnd(state.length + 3 - (bytesIn(state).length % 3), '=')),
    badState,
  ),
  row(
    'a state with superfluous padding is refused',
    changed((state) => `${state}=`),
    badState,
  ),
  row(
    'a state in the alphabet of plain base64 is refused',
    spelt(hasBoth, (state) => state.replaceAll('-', '+').replaceAll('_', '/')),
    badState,
  ),
  row(
    'a state in hexadecimal is refused',
    changed((state) => withSealed(state, bytesIn(state).toString('hex'))),
    badState,
  ),
  row('a state of the same bytes but other spare bits is refused', spelt(hasSpareBits, respelt), badState),
  row('a state with spare bits as it was given is accepted', spelt(hasSpareBits, same), greeted),
  row('a state of both alphabets as it was given is accepted', spelt(hasBoth, same), greeted),
  ...[' ', '\n', '\t', '\u0000', '\u00a0', '\ufeff', '-', '.', 'A', 'AAAA', '='].flatMap((text) => [
    row(
      `a state with ${json(text)} before it is refused`,
      changed((state) => text + state),
      badState,
    ),
    row(
      `a state with ${json(text)} after it is refused`,
      changed((state) => state + text),
      badState,
    ),
    row(
      `a state with ${json(text)} in its middle is refused`,
      changed((state) => state.slice(0, 40) + text + state.slice(40)),
      badState,
    ),
    row(
      `a state with ${json(text)} after its key is refused`,
      changed((state) => state.replace('.', `.${text}`)),
      badState,
    ),
  ]),
  row(
    'a state percent-encoded is refused',
    changed((state) => state.replace('.', '%2E')),
    badState,
  ),
  row(
    'a state encoded once more is refused',
    changed((state) => Buffer.from(state).toString('base64url')),
    badState,
  ),
  row(
    'a state in quotes is refused',
    changed((state) => json(state)),
    badState,
  ),
  row(
    'a state backwards is refused',
    changed((state) => [...state].reverse().join('')),
    badState,
  ),
  row(
    'a state twice over is refused',
    changed((state) => state + state),
    badState,
  ),
  row(
    'two states with a comma between them are refused',
    changed((state) => `${state},${state}`),
    badState,
  ),
  row('what is sealed without its key is refused', changed(sealedIn), badState),
]

const elsewhere: Row[] = [
  row('a state of one tool is refused by another', moved({}, { name: 'ask_once' }), badState),
  row('a state of a singleUse tool is refused by another tool', moved({ name: 'ask_once' }, {}), badState),
  row('a state is refused by a tool without input requests', moved({}, { name: 'new_handle' }), badState),
  row('a state is refused for an unknown tool', moved({}, { name: 'nothing' }), badState),
  row('a state for no arguments is refused for empty ones', moved({}, { more: { arguments: {} } }), badState),
  row(
    'a state for no arguments is refused for other arguments',
    moved({}, { more: { arguments: { about: 1 } } }),
    badState,
  ),
  ...[
    { about: 2 },
    { about: '1' },
    { about: [1] },
    { about: null },
    { about: 1, more: 1 },
    { About: 1 },
    {},
    undefined,
  ].map((args) =>
    row(
      `a state for {"about":1} is refused for ${json(args)}`,
      moved({ more: { arguments: { about: 1 } } }, { more: { arguments: args } }),
      badState,
    ),
  ),
  row(
    'a state is accepted for the same arguments in another order',
    moved({ more: { arguments: { about: 1, more: 2 } } }, { more: { arguments: { more: 2, about: 1 } } }),
    greeted,
  ),
  row('a state of a tool is refused by a prompt', moved({}, { method: 'prompts/get' }), badState),
  row('a state of a prompt is refused by a tool', moved({ method: 'prompts/get' }, {}), badState),
  row('a state of a tool is refused by a resource', moved({}, { method: 'resources/read', uri: 'ask://a' }), badState),
  row('a state of a resource is refused by a tool', moved({ method: 'resources/read', uri: 'ask://a' }, {}), badState),
  row(
    'a state of a resource is refused by a tool with the URI as name',
    moved({ method: 'resources/read', uri: 'ask://a' }, { name: 'ask://a' }),
    badState,
  ),
  row(
    'a state of one resource is refused by another',
    moved({ method: 'resources/read', uri: 'ask://a' }, { method: 'resources/read', uri: 'ask://b' }),
    badState,
  ),
  row(
    'a state for an object is refused for the list of its members',
    moved({ more: { arguments: { about: { a: 1 } } } }, { more: { arguments: { about: [['a', 1]] } } }),
    badState,
  ),
  row(
    'a state of one resource is refused by another, even with the same name',
    moved(
      { method: 'resources/read', uri: 'ask://a', more: { name: 'x' } },
      { method: 'resources/read', uri: 'ask://b', more: { name: 'x' } },
    ),
    badState,
  ),
  row(
    'a state for null is refused for a number that overflows',
    async (stage: Stage) => ({
      ...(await moved({ more: { arguments: { about: null } } }, { more: { arguments: { about: 'HERE' } } })(stage)),
      text: (params: string) => params.replace('"HERE"', '1e400'),
    }),
    badState,
  ),
  row('a request state is ignored by a list', moved({}, { method: 'tools/list' }), {
    status: 200,
    result: { tools: [{ name: 'ask' }] },
    begun: 0,
    passed: 0,
  }),

  // People
  row("Bob is refused Ada's state", moved({}, { as: 'bob' }), badState),
  row("Ada is refused Bob's state", moved({ as: 'bob' }, {}), badState),
  row("another client of Ada is refused Ada's state", moved({}, { as: 'ada with another client' }), badState),
  row('a state of Ada is refused without a token', moved({}, { as: 'nobody' }), unread(401, 'Say who you are')),
  row('a state of Ada is refused for an anonymous caller', moved({}, { path: '/open', as: 'nobody' }), badState),
  row('a state of an anonymous caller is refused for Ada', moved({ path: '/open' }, {}), badState),
  row(
    'a state of an anonymous caller is accepted for an anonymous caller',
    moved({ path: '/open' }, { path: '/open' }),
    goesOn('nobody says honest'),
  ),

  // Keys
  row('a state of another server is refused', moved({ to: 'foreign' }, {}), badState),
  row('a state is refused by another server', moved({}, { to: 'foreign' }), badState),
  row('a state is accepted after a rotation', moved({}, { to: 'rotated' }), greeted),
  row('a state is refused by a server that has not got the new key yet', moved({ to: 'rotated' }, {}), badState),
  row('a state under a key that is being rotated out is accepted', forged({ key: 'old' }), greeted),
  row('a state under a key that has been rotated out is refused', forged({ key: 'old' }, { to: 'rotated' }), badState),

  // Other sealed things
  row('a cursor is refused as a state', async (stage) => bringing(await stage.cursor()), badState),
  row('a handle is refused as a state', async (stage) => bringing(await stage.handle()), badState),
  row('a session id is refused as a state', async (stage) => bringing((await stage.session()).id), badState),
  row(
    'a state is refused as a cursor',
    async (stage) => ({ method: 'tools/list', more: { cursor: await stage.state() } }),
    {
      ...refused(/cursor/),
    },
  ),
]

const sealed: Row[] = [
  row('a state that this test sealed is accepted', forged(), greeted),
  row('a state that is about to expire is accepted', forged({ age: life - 60_000 }), greeted),
  row('a state that has just expired is refused', forged({ life: 0 }), badState),
  row('a state that expired a minute ago is refused', forged({ age: life + 60_000 }), badState),
  row('a state that expired a year ago is refused', forged({ age: 366 * life }), badState),
  row('a state that expires at infinity is refused', forged({ life: Number.POSITIVE_INFINITY }), badState),
  row('a state that expires at NaN is refused', forged({ life: Number.NaN }), badState),
  ...[
    '',
    'journal',
    'journal:tools/call',
    'journal:tools/call:',
    'session',
    'session-sse',
    'cursor:tools/list',
    'handle:basket',
  ].map((purpose) => row(`a journal that was sealed as ${json(purpose)} is refused`, forged({ purpose }), badState)),
  ...(['prompts/get', 'resources/read', 'Tools/call', 'tools/list'] as const).map((method) =>
    row(
      `a journal that was sealed for ${method} is refused by a tool`,
      async (stage: Stage) => forged({ purpose: await purposeOf(method, 'ask') })(stage),
      badState,
    ),
  ),
  row('a journal that was sealed without a principal is refused', forged({ by: undefined }), badState),
  row(
    'a journal that was sealed without a principal, with Ada in its purpose, is refused',
    async (stage: Stage) =>
      forged({
        by: undefined,
        purpose: `${await purposeOf('tools/call', 'ask')}\n["${ada.issuer}","${ada.subject}",""]`,
      })(stage),
    badState,
  ),
  ...[
    { ...ada, issuer: 'https://elsewhere.example' },
    { ...ada, subject: 'Ada' },
    { ...ada, client: 'ada' },
  ].map((by) =>
    row(
      `a journal that was sealed for ${json([by.issuer, by.subject, by.client])} is refused`,
      forged({ by }),
      badState,
    ),
  ),
  ...[
    null,
    1,
    'text',
    [],
    {},
    { journal: null },
    { journal: [] },
    { journal: {} },
    { journal: { ...emptyJournal, answers: [] } },
    { journal: { ...emptyJournal, effects: null } },
    { journal: { ...emptyJournal, requestFingerprints: undefined } },
    { name: 'somebody' },
    { kept: '' },
    { kept: 'nothing' },
    { kept: null },
    { kept: '__proto__' },
  ].map((value) => row(`a sealed ${json(value)} is refused as a journal`, forged({ value }), badState)),
]

const large = (change: (state: string) => unknown, round: Round = {}) => changed(change, { name: 'ask_much', ...round })

const kept: Row[] = [
  row('a state of a stored journal is accepted', large(same), greeted),
  row(
    'a state of a deleted journal is refused',
    async (stage) => bringing(await stage.forgotten('ask_much'), { name: 'ask_much' }),
    badState,
  ),
  row(
    'a state of a singleUse call with a deleted journal is refused',
    async (stage) => bringing(await stage.forgotten('ask_much_once'), { name: 'ask_much_once' }),
    badState,
  ),
  row(
    'a truncated state of a stored journal is refused',
    large((state) => state.slice(0, -1)),
    badState,
  ),
  row('a state of a stored journal is refused by another tool', moved({ name: 'ask_much' }, {}), badState),
  row(
    'a state of a stored journal of Ada is refused for Bob',
    moved({ name: 'ask_much' }, { name: 'ask_much', as: 'bob' }),
    badState,
  ),
  row(
    'the name of a stored journal is refused as a state',
    async (stage) => {
      const state = await stage.state({ name: 'ask_much' })
      return bringing((await stage.carried(state, 'ask_much')).kept, { name: 'ask_much' })
    },
    badState,
  ),
  row(
    'the record of a used state is refused as a journal',
    async (stage) => {
      const state = await stage.state({ name: 'ask_once' })
      await stage.result(bringing(state, { name: 'ask_once' }))
      const { name } = await stage.carried(state, 'ask_once')
      return forged({ value: { kept: name } })(stage)
    },
    badState,
  ),
]

/** A state of a single call that has been used with this. */
const used = (first: unknown, more: Record<string, unknown>) => async (stage: Stage) => {
  const requestState = await stage.state({ name: 'ask_once' })
  await stage.send({ name: 'ask_once', more: { requestState, inputResponses: first } })
  return { name: 'ask_once', more: { requestState, ...more } }
}
const alreadyUsed = {
  ...refused('This requestState was already used with other answers: call again'),
  error: {
    code: -32602,
    message: 'This requestState was already used with other answers: call again',
    data: { reason: 'used' },
  },
}
const other = { word: { action: 'accept', content: { word: 'other' } } }
const wrong = { word: { action: 'accept', content: { word: 1 } } }

const again: Row[] = [
  row(
    'a used singleUse state with the same input response gets the same outcome',
    used(honest, { inputResponses }),
    answeredAgain('ada says honest'),
  ),
  row(
    'a used singleUse state with another input response is refused',
    used(honest, { inputResponses: other }),
    alreadyUsed,
  ),
  row(
    'a used singleUse state with an extended input response is refused',
    used(honest, { inputResponses: { word: { ...honest.word, more: 1 } } }),
    alreadyUsed,
  ),
  row(
    'a singleUse state that was used with an invalid input response is refused with a valid one',
    used(wrong, { inputResponses }),
    alreadyUsed,
  ),
  row(
    'a singleUse state that was used with an invalid input response gets the same error again',
    used(wrong, { inputResponses: wrong }),
    {
      ...refused(/^The answer to "word" does not fit its schema: /),
    },
  ),
  row('a used singleUse state without an input response gets the input request again', used(honest, {}), asks('word')),
  row(
    'a truncated singleUse state is refused after its use',
    async (stage) => {
      const round = await used(honest, { inputResponses })(stage)
      return { ...round, more: { ...round.more, requestState: String(round.more.requestState).slice(0, -1) } }
    },
    badState,
  ),
]

export const states = { notAState, tampered, elsewhere, sealed, kept, again }
