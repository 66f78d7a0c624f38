import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { clientCapabilitiesKey, protocolVersionKey } from '../../worker/protocol/meta.ts'
import { newestRevision } from '../../worker/protocol/revisions/index.ts'
import { type RunningServer, startServer } from '../../worker/testing/node/index.ts'

const hourMs = 60 * 60_000

let server: RunningServer
beforeAll(async () => {
  server = await startServer({ config: 'test/http/timed/wrangler.toml' })
})
afterAll(() => server[Symbol.asyncDispose]())

type Outcome = {
  id: number
  result?: { content?: { text: string }[]; requestState?: string; inputRequests?: Record<string, unknown> }
  error?: { code: number; message: string; data?: { reason?: string } }
}
let lastId = 0

/** One round of a call of a stateless client. */
async function round(name: string, args: object, more: { requestState?: string | undefined; inputResponses?: object }) {
  const id = ++lastId
  const response = await fetch(server.url, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      'MCP-Protocol-Version': newestRevision.date,
      'Mcp-Method': 'tools/call',
      'Mcp-Name': name,
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: {
        name,
        arguments: args,
        _meta: { [protocolVersionKey]: newestRevision.date, [clientCapabilitiesKey]: { elicitation: {} } },
        ...more,
      },
    }),
  })
  const outcome = (await response.json()) as Outcome
  expect(outcome.id).toBe(id)
  return outcome
}

const accepting = (content: object) => ({ action: 'accept', content })
const yes = { consent: accepting({ sure: true }) }
const no = { consent: accepting({ sure: false }) }
const thanks = { thanks: accepting({ note: 'tea' }) }
const textOf = ({ result }: Outcome) => result?.content?.[0]?.text
const asks = ({ result }: Outcome) => Object.keys(result?.inputRequests ?? {})

/** A payment of its own, up to its first question. */
async function payment(tool = 'pay_once') {
  const args = { order: crypto.randomUUID() }
  const send = (requestState?: string, inputResponses?: object) =>
    round(tool, args, {
      ...(requestState !== undefined && { requestState }),
      ...(inputResponses && { inputResponses }),
    })
  const first = await send()
  expect(asks(first)).toEqual(['consent'])
  return {
    send,
    state: first.result?.requestState as string,
    charges: async () => textOf(await round('charged', args, {})),
  }
}

describe('an input response to a tool with singleUse', () => {
  test('is accepted once, and a repeated request gets the same outcome', async () => {
    const { send, state, charges } = await payment()
    const { result } = await send(state, yes)
    for (let time = 0; time < 3; time++) expect((await send(state, yes)).result).toEqual(result)
    const last = await send(result?.requestState, thanks)
    expect(textOf(last)).toMatch(/^[\da-f-]{36} tea$/)
    expect((await send(result?.requestState, thanks)).result).toEqual(last.result)
    expect((await send(state, yes)).result).toEqual(result)
    expect(await charges()).toBe('1')
  })

  test('is accepted once when it is sent several times concurrently', async () => {
    const { send, state, charges } = await payment()
    const outcomes = await Promise.all(Array.from({ length: 5 }, () => send(state, yes)))
    expect(new Set(outcomes.map(({ result }) => JSON.stringify(result))).size).toBe(1)
    expect(asks(outcomes[0] as Outcome)).toEqual(['thanks'])
    expect(await charges()).toBe('1')
  })

  test('waits for the first outcome after the object that stores it was evicted', async () => {
    const args = { order: crypto.randomUUID() }
    const first = await round('pay_slowly', args, {})
    const answered = { requestState: first.result?.requestState, inputResponses: yes }
    const paying = round('pay_slowly', args, answered)
    await vi.waitFor(async () => expect(textOf(await round('charged', args, {}))).toBe('1'))
    await server.evict()
    const again = round('pay_slowly', args, answered)
    // Answered before the first is finished, it would be wrong.
    expect(await Promise.race([again, round('charged', args, {})])).toMatchObject({
      result: { content: [{ text: '1' }] },
    })
    await round('finish', args, {})
    expect(textOf(await paying)).toBe('charged 1 time')
    expect(textOf(await again)).toBe('charged 1 time')
  })

  test('has its outcome after the timeout of its input request, which accepts no first response then', async () => {
    const start = async () => {
      const args = { order: crypto.randomUUID() }
      const first = await round('pay_soon', args, {})
      return (inputResponses?: object) =>
        round('pay_soon', args, { requestState: first.result?.requestState, ...(inputResponses && { inputResponses }) })
    }
    const answered = await start()
    expect(textOf(await answered(yes))).toBe('charged 1 time')
    const unanswered = await start()
    expect(asks(await unanswered())).toEqual(['consent'])
    await server.advance(hourMs + 1)
    const tooLate = 'params.requestState is not valid for this request: send the request without it'
    expect((await unanswered()).error?.message).toBe(tooLate)
    expect(textOf(await answered(yes))).toBe('charged 1 time')
    expect((await answered(no)).error?.data).toEqual({ reason: 'used' })
    expect((await unanswered(yes)).error?.message).toBe(tooLate)
  })

  test('cannot be changed after it was accepted', async () => {
    for (const [one, other, charged] of [
      [yes, no, '1'],
      [no, yes, '0'],
      [{ consent: accepting({ sure: 'perhaps' }) }, yes, '0'],
    ] as const) {
      const { send, state, charges } = await payment()
      const first = await send(state, one)
      expect((await send(state, other)).error).toEqual({
        code: -32602,
        message: 'This requestState was already used with other answers: call again',
        data: { reason: 'used' },
      })
      const again = await send(state, one)
      expect([again.result, again.error]).toEqual([first.result, first.error])
      expect(await charges()).toBe(charged)
    }
  })

  test('requires an input request', async () => {
    const { send, charges } = await payment()
    expect(asks(await send(undefined, { ...yes, ...thanks }))).toEqual(['consent'])
    expect(await charges()).toBe('0')
  })

  test('is not used up by a state without input responses, or with those to other requests', async () => {
    const { send, state, charges } = await payment()
    const again = await send(state)
    expect(asks(again)).toEqual(['consent'])
    expect(asks(await send(state, { other: 1 }))).toEqual(['consent'])
    const paid = await send(state, { ...yes, other: 2 })
    expect(asks(paid)).toEqual(['thanks'])
    expect((await send(state, yes)).result).toEqual(paid.result)
    // Asked twice, a person may say yes twice.
    expect((await send(again.result?.requestState, yes)).result).toEqual(paid.result)
    expect(await charges()).toBe('1')
  })
})

test('answered input requests stay answered', async () => {
  for (const tool of ['pay', 'pay_once']) {
    const { send, state, charges } = await payment(tool)
    const { result } = await send(state, yes)
    expect(asks(await send(result?.requestState, no))).toEqual(['thanks'])
    expect(textOf(await send(result?.requestState, { ...no, ...thanks }))).toMatch(/^[\da-f-]{36} tea$/)
    expect(await charges()).toBe('1')
  }
})

test('a tool without singleUse accepts an input response again', async () => {
  const { send, state, charges } = await payment('pay')
  for (let time = 0; time < 2; time++) expect(asks(await send(state, yes))).toEqual(['thanks'])
  expect(await charges()).toBe('2')
})

test('an input response after its timeout is refused', async () => {
  const args = { timeoutMs: hourMs }
  const first = await round('ask_soon', args, {})
  const requestState = first.result?.requestState
  const inputResponses = { soon: accepting({ value: 'yes' }) }
  expect(textOf(await round('ask_soon', args, { requestState, inputResponses }))).toBe('yes')
  await server.advance(hourMs + 1)
  const { error } = await round('ask_soon', args, { requestState, inputResponses })
  expect(error?.message).toBe('params.requestState is not valid for this request: send the request without it')
})

test('a large journal is stored, and the request state has its name only', async () => {
  const first = await round('ask_much', {}, {})
  const requestState = first.result?.requestState as string
  expect(requestState.length).toBeLessThan(1000)
  await server.evict()
  const second = await round('ask_much', {}, { requestState, inputResponses: { first: accepting({ value: 'a' }) } })
  const last = await round(
    'ask_much',
    {},
    { requestState: second.result?.requestState, inputResponses: { second: accepting({ value: 'b' }) } },
  )
  expect(textOf(last)).toBe('200000 a b')
  const foreign = await round('ask_twice', {}, { requestState })
  expect(foreign.error?.code).toBe(-32602)
})
