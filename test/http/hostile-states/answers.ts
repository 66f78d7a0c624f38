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
const tooDeep = unread(400, 'The body has more than 128 levels')
const noObject = refused('params.inputResponses must be an object')

const noAnswers: Row[] = [null, [], [honest], '', 'text', json(honest), 0, 1, true, false].map((answers) =>
  row(`the answers ${json(answers)} are invalid`, answering(answers), noObject),
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
  ...noResult.flatMap((word) => bothWays(`${json(word)} is an invalid input response`, { word }, noWord)),
  ...noContent.flatMap((content) =>
    bothWays(`${json(content)} is invalid content`, { word: { action: 'accept', content } }, misfit),
  ),
  row(
    'content with a __proto__ member is invalid',
    saying('{"word":{"action":"accept","content":{"__proto__":{"word":"honest"}}}}'),
    misfit,
  ),
  row(
    'a result with a __proto__ member is invalid',
    saying('{"word":{"__proto__":{"action":"accept","content":{"word":"honest"}}}}'),
    noWord,
  ),
  row(
    'the last of two input responses under one key counts',
    saying(`{"word":${json(honest.word)},"word":null}`),
    noWord,
  ),
]

const elsewhere: Row[] = [
  row('the input request is repeated without inputResponses', answering(undefined), asks('word')),
  row('the input request is repeated with empty inputResponses', answering({}), asks('word')),
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
  ].flatMap((key) => bothWays(`an input response under ${json(key)} is ignored`, { [key]: honest.word }, asks('word'))),
  row('an input response under __proto__ is ignored', saying(`{"__proto__":${json(honest)}}`), asks('word')),
  row(
    'an input response with the key __proto__ is ignored',
    saying(`{"__proto__":${json(honest.word)}}`),
    asks('word'),
  ),
  row('an input response one level deeper is ignored', answering({ answers: honest }), asks('word')),
  row(
    'input responses above the limit are refused',
    answering({ ...many, ...honest, another: honest.word }),
    refused('params.inputResponses has 101 entries: this server accepts at most 100', 400),
  ),
  row('99 input responses to other requests are ignored', answering(many), asks('word')),
  row(
    '99 input responses to other requests are ignored, ask_once',
    answering(many, { name: 'ask_once' }),
    asks('word'),
  ),
  row(
    'an input response beside params is ignored',
    async (stage) => ({
      ...(await answering(undefined)(stage)),
      text: (params) => `${params},"inputResponses":${json(honest)}`,
    }),
    asks('word'),
  ),
  row(
    'an input response in _meta is ignored',
    async (stage) => ({
      ...(await answering(undefined)(stage)),
      text: (params) => params.replace('"_meta":{', `"_meta":{"inputResponses":${json(honest)},`),
    }),
    asks('word'),
  ),
  row(
    'an input response in the arguments makes the state of other arguments invalid',
    async (stage) => ({ more: { requestState: await stage.state(), arguments: { inputResponses: honest } } }),
    refused('params.requestState is not valid for this request: send the request without it'),
  ),
  row(
    'an input response to a singleUse call without an input request is ignored',
    () => ({ name: 'ask_once', more: { inputResponses: honest } }),
    asks('word'),
  ),
  row(
    'a response to the second input request does not answer the first',
    answering({ second: honest.word }, { name: 'ask_twice' }),
    asks('first'),
  ),
  row(
    'a response to the second input request does not answer the first, of a singleUse call',
    answering({ second: honest.word }, { name: 'ask_twice_once' }),
    asks('first'),
  ),
  row(
    'a singleUse call ignores a response to an input request that it has not sent',
    answering({ first: honest.word, second: honest.word }, { name: 'ask_twice_once' }),
    { ...asks('second'), passed: 1 },
  ),
  row('one of two input responses is not enough', answering({ second: honest.word }, { name: 'ask_both' }), {
    ...asks('first'),
    passed: 1,
  }),
  row(
    'one of two input responses is not enough when the other is invalid',
    answering({ first: {}, second: honest.word }, { name: 'ask_both' }),
    { ...notTaken('The answer to "first" is not a valid elicitation/create result'), passed: 1 },
  ),
  row(
    'input responses of a client without the capability are refused',
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
      `${json(word)} is an invalid sampling response`,
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
      `${json(word)} is an invalid roots response`,
      answering({ word }, { name: 'ask_roots' }),
      notTaken('The answer to "word" is not a valid roots/list result'),
    ),
  ),
  ...[sampled, folders, {}, null, { action: 'done' }, { action: ['accept'] }].map((word) =>
    row(`${json(word)} is an invalid response to a URL elicitation`, answering({ word }, { name: 'ask_page' }), noWord),
  ),
]

const large: Row[] = [
  row('content of a megabyte is invalid', answering({ word: accepting({ word: 'a'.repeat(1_000_000) }) }), misfit),
  row('a megabyte of text is an invalid input response', answering({ word: 'a'.repeat(1_000_000) }), noWord),
  row('a body above the limit is refused', answering({ word: 'a'.repeat(4 * 1024 * 1024) }), unread(413, /body/i)),
  row('input responses nested 1,000 deep are refused', saying(nested(1_000)), tooDeep),
  row('an input response nested 1,000 deep is refused', saying(`{"word":${nested(1_000)}}`), tooDeep),
  row('lists nested 1,000 deep are refused', saying(`{"word":${'['.repeat(1_000)}${']'.repeat(1_000)}}`), tooDeep),
  row(
    'content nested 1,000 deep is refused',
    saying(`{"word":{"action":"accept","content":${nested(1_000)}}}`),
    tooDeep,
  ),
  row(
    'content nested 100 deep is invalid',
    saying(`{"word":{"action":"accept","content":{"word":${nested(100)}}}}`),
    misfit,
  ),
  row(
    'content of ten thousand members without the required one is invalid',
    answering({ word: accepting(many) }),
    misfit,
  ),
]

/** Meant to go on: nothing of what is odd about them reaches a handler. */
const harmless: Row[] = [
  row('a valid input response is accepted', answering(honest), greeted),
  row('a valid input response is accepted, ask_once', answering(honest, { name: 'ask_once' }), greeted),
  row('a valid input response is accepted by a prompt', answering(honest, { method: 'prompts/get' }), {
    status: 200,
    result: { messages: [{ content: { text: 'ada says honest' } }] },
    begun: 1,
    passed: 1,
  }),
  row(
    'a valid input response is accepted by a resource',
    answering(honest, { method: 'resources/read', uri: 'ask://a' }),
    {
      status: 200,
      result: { contents: [{ text: 'ada says honest' }] },
      begun: 1,
      passed: 1,
    },
  ),
  row(
    'a decline with content is a decline',
    answering({ word: { action: 'decline', content: { word: 'declined' } } }),
    goesOn('ada says decline'),
  ),
  row(
    'a cancellation with content is a cancellation',
    answering({ word: { action: 'cancel', content: 'no object' } }),
    goesOn('ada says cancel'),
  ),
  row(
    'other members of an input response are removed',
    answering({ word: { ...honest.word, isError: true, __v: 1 } }),
    greeted,
  ),
  row('other members of the content are removed', answering({ word: accepting({ ...many, word: 'honest' }) }), greeted),
  row(
    'a __proto__ member of the content is removed',
    saying('{"word":{"action":"accept","content":{"word":"honest","__proto__":{"word":"other"}}}}'),
    greeted,
  ),
  row('input responses to other requests are removed', answering({ ...many, ...honest }), greeted),
  row(
    'input responses to other requests are removed, ask_once',
    answering({ ...many, ...honest }, { name: 'ask_once' }),
    greeted,
  ),
  row(
    'an input response to a call without an input request yet is accepted',
    () => ({ more: { inputResponses: honest } }),
    greeted,
  ),
  row(
    'a response to an input request that is not sent yet is accepted',
    answering({ first: honest.word, second: honest.word }, { name: 'ask_twice' }),
    goesOn('ada says honest and honest', 2),
  ),
  row(
    'input requests with names of inherited members are answered',
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
    'a response to a URL elicitation is accepted with any content',
    answering({ word: accepting({ password: 'x' }) }, { name: 'ask_page' }),
    goesOn('accept'),
  ),
]

export const answers = { noAnswers, wrong, elsewhere, otherKinds, large, harmless }
