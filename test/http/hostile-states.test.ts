/** Whatever a client brings as a state or says to a question: no handler gets past a question that was not answered. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sample } from '../support/full.ts'
import { answers } from './hostile-states/answers.ts'
import type { AskedCall } from './hostile-states/asked-call.ts'
import type { Outcome } from './hostile-states/row.ts'
import { bytesIn, flipped } from './hostile-states/sealed-text.ts'
import { type Fate, sessionAnswers } from './hostile-states/session-answers.ts'
import { type Answer, honest, Stage } from './hostile-states/stage.ts'
import { states } from './hostile-states/states.ts'

let stage: Stage
beforeAll(async () => {
  stage = await Stage.open()
})
afterAll(() => stage[Symbol.asyncDispose]())

const tables = {
  ...states,
  ...Object.fromEntries(Object.entries(answers).map(([topic, rows]) => [`answers: ${topic}`, rows])),
}
for (const [topic, rows] of Object.entries(tables)) {
  describe(topic, () => {
    for (const { name, send, outcome } of sample(rows, 6)) {
      test(name, async () => assertOutcome(await stage.send(await send(stage)), outcome))
    }
  })
}

describe('a state', () => {
  const bringing = (requestState: string) => ({ more: { requestState, inputResponses: honest } })
  const refusal = {
    code: -32602,
    message: 'params.requestState is not valid for this request: send the request without it',
  }

  /** At every place of a state; in `npm test` at every fifteenth. */
  const everywhere = (state: ArrayLike<unknown>, spoil: (at: number) => string) =>
    sample(
      Array.from(state, (_, at) => at),
      15,
    ).map(spoil)

  /** Spoilt in many ways: each is refused, and none of them reaches a handler. */
  async function assertRefused(spoil: (state: string) => string[]): Promise<void> {
    const state = await stage.state()
    const before = await stage.counts()
    const spoilt = spoil(state)
    for (const text of spoilt) expect(await stage.answerTo(bringing(text)), text).toMatchObject({ error: refusal })
    expect(await stage.counts()).toEqual(before)
    expect(await stage.send(bringing(state))).toMatchObject({ status: 200, begun: 1, passed: 1 })
  }

  test('cut off after any character is refused', () =>
    assertRefused((state) => everywhere(state, (length) => state.slice(0, length))))

  test('without its first characters is refused', () =>
    assertRefused((state) => everywhere(state, (length) => state.slice(length + 1))))

  test('with a bit flipped in any byte is refused', () =>
    assertRefused((state) => everywhere(bytesIn(state), (at) => flipped(state, at, 1 << (at % 8)))))
})

test.each([
  ['that lacks its scopes', { 'X-Scopes': 'other' }, 'Requires the scopes secrets'],
  ['that does not see the tool', { 'X-Blind': 'yes' }, 'Unknown tool: ask_secretly'],
])('the stored outcome of a singleUse state is not sent to a caller %s', async (_, changed, message) => {
  const headers = { 'X-Scopes': 'secrets' }
  const name = 'ask_secretly'
  const more = { requestState: await stage.state({ name, headers }), inputResponses: honest }
  const refused = await stage.send({ name, more, headers: { ...headers, ...changed } })
  expect(refused).toMatchObject({ body: { error: { message } }, begun: 0, passed: 0 })
  // The refused answer has not used the state.
  const { body: outcome } = await stage.send({ name, more, headers })
  expect(outcome).toMatchObject({ result: { content: [{ text: 'ada says honest' }] } })
  expect((await stage.answerTo({ name, more, headers: { ...headers, ...changed } })).error).toMatchObject({ message })
  expect(await stage.answerTo({ name, more, headers })).toEqual(outcome)
})

for (const [topic, rows] of Object.entries(sessionAnswers)) {
  describe(`in a session: ${topic}`, () => {
    for (const { name, attack, answer, fate } of sample(rows, 6)) {
      test(name, async () => {
        const asked = await (await stage.session()).call()
        const before = (await stage.counts()).passed
        const { status, body } = await attack(asked, stage)
        expect({ status, error: body?.error }, JSON.stringify(body)).toEqual({ error: undefined, ...answer })
        await assertFate(asked, fate)
        // Nothing is taken any more.
        expect((await asked.answer(honest.word)).status).toBe(fate === 'over' ? status : 202)
        expect((await stage.counts()).passed - before).toBe(passedBy(fate))
      })
    }
  })
}

describe('after all of these states', () => {
  test('a valid input response is accepted once', async () => {
    const before = await stage.counts()
    expect(await stage.send({ more: { inputResponses: honest } })).toMatchObject({ begun: 1, passed: 1 })
    expect(await stage.counts()).toEqual({ begun: before.begun + 1, passed: before.passed + 1 })
  })

  test('the server has logged no errors', () => {
    expect(stage.errors()).toEqual([])
  })
})

function assertOutcome(answer: Answer, outcome: Outcome): void {
  const { status, body, begun, passed } = answer
  const seen = JSON.stringify(body).slice(0, 500)
  expect({ status, begun, passed }, seen).toEqual({
    status: outcome.status,
    begun: outcome.begun,
    passed: outcome.passed,
  })
  expect(body.id).toBe('id' in outcome ? outcome.id : 1)
  if ('error' in outcome) {
    const { message, ...numbers } = outcome.error
    const said = typeof message === 'string' ? message : expect.stringMatching(message)
    return expect(body.error, seen).toEqual({ message: said, ...numbers })
  }
  const result = body.result as { resultType: string; inputRequests: object }
  if ('asks' in outcome) {
    expect(result, seen).toMatchObject({ resultType: 'input_required' })
    return expect(Object.keys(result.inputRequests)).toEqual(outcome.asks)
  }
  const expected = 'says' in outcome ? { content: [{ type: 'text', text: outcome.says }] } : outcome.result
  expect(result, seen).toMatchObject({ resultType: 'complete', ...expected })
}

/** How the call ends, and that nothing comes after its end. */
async function assertFate(asked: AskedCall, fate: Fate): Promise<void> {
  if (fate !== 'over') {
    if ('waiting' in fate) expect(await asked.answer(honest.word)).toEqual({ status: 202, body: undefined })
    const end = 'waiting' in fate ? { result: { content: [{ text: 'ada says honest' }] } } : fate
    const { passed: _, ...message } = { passed: 0, ...end }
    expect(await asked.next()).toMatchObject({ id: 1, ...message })
  }
  expect(await asked.next()).toBeUndefined()
}

/** How often handlers got past their questions. */
function passedBy(fate: Fate): number {
  if (fate === 'over' || 'error' in fate) return 0
  return 'waiting' in fate ? fate.waiting + 1 : fate.passed
}
