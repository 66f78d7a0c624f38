/** Answers that are none, are to something else, or come from elsewhere; each comes with the state that was given. */
import { asks, goesOn, greeted, misfit, notTaken, noWord, type Outcome, type Row, refused, row, unread } from './row.ts'
import { accepting, honest, type Round, type Stage } from './stage.ts'

const json = JSON.stringify

/** The call once more, with its state and these answers. */
const answering =
  (inputResponses: unknown, round: Round = {}) =>
  async (stage: Stage): Promise<Round> => ({
    ...round,
    more: { requestState: await stage.state(round), inputResponses, ...round.more },
  })

/** The same with answers that no value of this language makes. */
const saying =
  (text: string, round: Round = {}) =>
  async (stage: Stage) => ({
    ...(await answering('HERE', round)(stage)),
    text: (params: string) => params.replace('"HERE"', () => text),
  })

const sampled = { role: 'assistant', model: 'm', content: { type: 'text', text: 'honest' } }
const folders = { roots: [{ uri: 'file:///honest' }] }
const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
const many = Object.fromEntries(Array.from({ length: 99 }, (_, index) => [`key ${index}`, honest.word]))
const tooDeep = refused('The body is nested deeper than 128 levels', 400, -32600)
const noObject = refused('params.inputResponses must be an object')

const noAnswers: Row[] = [null, [], [honest], '', 'text', json(honest), 0, 1, true, false].map((answers) =>
  row(`the answers ${json(answers)} are none`, answering(answers), noObject),
)

const noResult: unknown[] = [
  null,
  true,
  0,
  '',
  'honest',
  [],
  [honest.word],
  {},
  { action: null },
  { action: 'yes' },
  { action: 'ACCEPT', content: { word: 'honest' } },
  { action: 'accept ', content: { word: 'honest' } },
  { action: ['accept'], content: { word: 'honest' } },
  { action: { accept: true }, content: { word: 'honest' } },
  { content: { word: 'honest' } },
  { word: 'honest' },
  { result: honest.word },
  { jsonrpc: '2.0', id: 1, result: honest.word },
  { error: { code: -1, message: 'no' } },
  { code: -1, message: 'no' },
  { method: 'elicitation/create', params: honest.word },
  { resultType: 'complete' },
  sampled,
  folders,
  json(honest.word),
]

const noContent: unknown[] = [
  undefined,
  null,
  'honest',
  1,
  [],
  ['honest'],
  {},
  { word: null },
  { word: 1 },
  { word: true },
  { word: '' },
  { word: 'more than twenty characters' },
  { word: ['honest'] },
  { word: { toString: 'honest' } },
  { Word: 'honest' },
  { 'word ': 'honest' },
  { content: { word: 'honest' } },
  { constructor: { word: 'honest' } },
]

/** As a call of a tool and as one of a tool that is single: each has its own way to take an answer. */
const bothWays = (name: string, answers: unknown, outcome: Outcome): Row[] =>
  ['ask', 'ask_once'].map((tool) => row(`${name}, ${tool}`, answering(answers, { name: tool }), outcome))

const wrong: Row[] = [
  ...noResult.flatMap((word) => bothWays(`${json(word)} is no answer`, { word }, noWord)),
  ...noContent.flatMap((content) =>
    bothWays(`${json(content)} is no content to accept with`, { word: { action: 'accept', content } }, misfit),
  ),
  row(
    'an answer does not fit for what its prototype would be',
    saying('{"word":{"action":"accept","content":{"__proto__":{"word":"honest"}}}}'),
    misfit,
  ),
  row(
    'a result is none for what its prototype would be',
    saying('{"word":{"__proto__":{"action":"accept","content":{"word":"honest"}}}}'),
    noWord,
  ),
  row('the last of two answers to one question counts', saying(`{"word":${json(honest.word)},"word":null}`), noWord),
]

const elsewhere: Row[] = [
  row('an answer is still owed when none comes', answering(undefined), asks('word')),
  row('an answer is still owed when no answers come', answering({}), asks('word')),
  ...[
    'Word',
    'WORD',
    ' word',
    'word ',
    'wor',
    'words',
    'w\u043erd',
    'word\u0000',
    '',
    '0',
    'first',
    'name',
    'requestState',
    'inputRequests',
    'answers',
    'constructor',
    'toString',
    'hasOwnProperty',
    'prototype',
  ].flatMap((key) => bothWays(`an answer under ${json(key)} answers nothing`, { [key]: honest.word }, asks('word'))),
  row('an answer under __proto__ answers nothing', saying(`{"__proto__":${json(honest)}}`), asks('word')),
  row(
    'an answer under a key that is __proto__ answers nothing',
    saying(`{"__proto__":${json(honest.word)}}`),
    asks('word'),
  ),
  row('an answer one level deeper answers nothing', answering({ answers: honest }), asks('word')),
  row(
    'more answers than a message may have are refused',
    answering({ ...many, ...honest, another: honest.word }),
    refused('params.inputResponses has 101 entries: this server accepts at most 100', 400),
  ),
  row('99 answers to something else answer nothing', answering(many), asks('word')),
  row('99 answers to something else answer nothing, ask_once', answering(many, { name: 'ask_once' }), asks('word')),
  row(
    'an answer beside params answers nothing',
    async (stage) => ({
      ...(await answering(undefined)(stage)),
      text: (params) => `${params},"inputResponses":${json(honest)}`,
    }),
    asks('word'),
  ),
  row(
    'an answer in _meta answers nothing',
    async (stage) => ({
      ...(await answering(undefined)(stage)),
      text: (params) => params.replace('"_meta":{', `"_meta":{"inputResponses":${json(honest)},`),
    }),
    asks('word'),
  ),
  row(
    'an answer among the arguments needs the state of those arguments',
    async (stage) => ({ more: { requestState: await stage.state(), arguments: { inputResponses: honest } } }),
    refused('params.requestState is not valid for this request: send the request without it'),
  ),
  row(
    'an answer to a single call that was not asked answers nothing',
    () => ({ name: 'ask_once', more: { inputResponses: honest } }),
    asks('word'),
  ),
  row(
    'an answer to the second question is none to the first',
    answering({ second: honest.word }, { name: 'ask_twice' }),
    asks('first'),
  ),
  row(
    'an answer to the second question is none to the first, of a single call',
    answering({ second: honest.word }, { name: 'ask_twice_once' }),
    asks('first'),
  ),
  row(
    'a single call takes no answer to what it has not asked',
    answering({ first: honest.word, second: honest.word }, { name: 'ask_twice_once' }),
    { ...asks('second'), passed: 1 },
  ),
  row('one of two answers is not enough', answering({ second: honest.word }, { name: 'ask_both' }), {
    ...asks('first'),
    passed: 1,
  }),
  row(
    'one of two answers is not enough when the other is wrong',
    answering({ first: {}, second: honest.word }, { name: 'ask_both' }),
    { ...notTaken('The answer to "first" is not a valid elicitation/create result'), passed: 1 },
  ),
  row(
    'a client that cannot be asked has no answers',
    async (stage) => ({ ...(await answering(honest)(stage)), capabilities: {} }),
    {
      status: 400,
      error: {
        code: -32021,
        message: 'This call needs a client that supports elicitation',
        data: { requiredCapabilities: { elicitation: { form: {} } } },
      },
      begun: 1,
      passed: 0,
    },
  ),
]

const otherKinds: Row[] = [
  ...[
    honest.word,
    folders,
    {},
    null,
    { ...sampled, role: undefined },
    { ...sampled, model: 1 },
    { ...sampled, content: [{ type: 'text' }] },
    { ...sampled, content: 'honest' },
  ].map((word) =>
    row(
      `${json(word)} is not from a model`,
      answering({ word }, { name: 'ask_model' }),
      notTaken('The answer to "word" is not a valid sampling/createMessage result'),
    ),
  ),
  ...[
    honest.word,
    sampled,
    {},
    null,
    { roots: {} },
    { roots: ['file:///a'] },
    { roots: [{ uri: 1 }] },
    { roots: [null, ...folders.roots] },
  ].map((word) =>
    row(
      `${json(word)} is not where a client works`,
      answering({ word }, { name: 'ask_roots' }),
      notTaken('The answer to "word" is not a valid roots/list result'),
    ),
  ),
  ...[sampled, folders, {}, null, { action: 'done' }, { action: ['accept'] }].map((word) =>
    row(`${json(word)} is not from a page`, answering({ word }, { name: 'ask_page' }), noWord),
  ),
]

const large: Row[] = [
  row('a word of a megabyte does not fit', answering({ word: accepting({ word: 'a'.repeat(1_000_000) }) }), misfit),
  row('a megabyte of text is no answer', answering({ word: 'a'.repeat(1_000_000) }), noWord),
  row('more than the server reads is not read', answering({ word: 'a'.repeat(4 * 1024 * 1024) }), unread(413, /body/i)),
  row('answers nested 1,000 deep are not looked at', saying(nested(1_000)), tooDeep),
  row('an answer nested 1,000 deep is not looked at', saying(`{"word":${nested(1_000)}}`), tooDeep),
  row(
    'lists nested 1,000 deep are not looked at',
    saying(`{"word":${'['.repeat(1_000)}${']'.repeat(1_000)}}`),
    tooDeep,
  ),
  row(
    'content nested 1,000 deep is not looked at',
    saying(`{"word":{"action":"accept","content":${nested(1_000)}}}`),
    tooDeep,
  ),
  row(
    'content nested 100 deep does not fit',
    saying(`{"word":{"action":"accept","content":{"word":${nested(100)}}}}`),
    misfit,
  ),
  row(
    'content of ten thousand members without the one that counts does not fit',
    answering({ word: accepting(many) }),
    misfit,
  ),
]

/** Meant to go on: nothing of what is odd about them reaches a handler. */
const harmless: Row[] = [
  row('an honest answer is taken', answering(honest), greeted),
  row('an honest answer is taken, ask_once', answering(honest, { name: 'ask_once' }), greeted),
  row('an honest answer is taken by a prompt', answering(honest, { method: 'prompts/get' }), {
    status: 200,
    result: { messages: [{ content: { text: 'ada says honest' } }] },
    begun: 1,
    passed: 1,
  }),
  row('an honest answer is taken by a resource', answering(honest, { method: 'resources/read', uri: 'ask://a' }), {
    status: 200,
    result: { contents: [{ text: 'ada says honest' }] },
    begun: 1,
    passed: 1,
  }),
  row(
    'what was declined with content is declined',
    answering({ word: { action: 'decline', content: { word: 'declined' } } }),
    goesOn('ada says decline'),
  ),
  row(
    'what was cancelled with content is cancelled',
    answering({ word: { action: 'cancel', content: 'no object' } }),
    goesOn('ada says cancel'),
  ),
  row(
    'what an answer has besides is left out',
    answering({ word: { ...honest.word, isError: true, __v: 1 } }),
    greeted,
  ),
  row('what content has besides is left out', answering({ word: accepting({ ...many, word: 'honest' }) }), greeted),
  row(
    'what content has as __proto__ is left out',
    saying('{"word":{"action":"accept","content":{"word":"honest","__proto__":{"word":"other"}}}}'),
    greeted,
  ),
  row('answers to something else are left out', answering({ ...many, ...honest }), greeted),
  row(
    'answers to something else are left out, ask_once',
    answering({ ...many, ...honest }, { name: 'ask_once' }),
    greeted,
  ),
  row('an answer to a call that has not asked yet is taken', () => ({ more: { inputResponses: honest } }), greeted),
  row(
    'an answer to what a call has not asked yet is taken',
    answering({ first: honest.word, second: honest.word }, { name: 'ask_twice' }),
    goesOn('ada says honest and honest', 2),
  ),
  row(
    'questions under names that objects have anyway are answered under them',
    async (stage) => {
      const round = { name: 'ask_strangely' }
      let state = await stage.state(round)
      for (const key of ['__proto__', 'constructor']) {
        const answers = JSON.parse(`{"${key}":${json(honest.word)}}`)
        state = (await stage.result({ ...round, more: { requestState: state, inputResponses: answers } }))
          .requestState as string
      }
      return { ...round, more: { requestState: state, inputResponses: { toString: honest.word } } }
    },
    goesOn('ada says honest and honest and honest', 3),
  ),
  row(
    'answered input requests stay answered',
    async (stage) => {
      const round = { name: 'ask_twice' }
      const { requestState } = await stage.result(await answering({ first: honest.word }, round)(stage))
      const changed = accepting({ word: 'changed' })
      return { ...round, more: { requestState, inputResponses: { first: changed, second: honest.word } } }
    },
    goesOn('ada says honest and honest', 2),
  ),
  row(
    'an answer from a page is taken for what was done there, whatever it contains',
    answering({ word: accepting({ password: 'x' }) }, { name: 'ask_page' }),
    goesOn('accept'),
  ),
]

export const answers = { noAnswers, wrong, elsewhere, otherKinds, large, harmless }
