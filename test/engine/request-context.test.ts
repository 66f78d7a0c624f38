import { describe, expect, test } from 'vitest'
import { secret } from '../../worker/declarations/request-context.ts'
import { checkedContext, openContext, storeContext } from '../../worker/engine/request-context.ts'
import { memorySeals } from './stage.ts'

describe('a stored request context', () => {
  test('without secrets is JSON', async () => {
    const seals = memorySeals()
    const stored = await storeContext(
      checkedContext({ plan: 'pro', limits: [1, null], absent: undefined }),
      seals,
      1000,
    )
    expect(stored).toEqual({ json: '{"plan":"pro","limits":[1,null]}' })
    expect(await openContext(stored, seals)).toEqual({ plan: 'pro', limits: [1, null] })
  })

  test('with a secret at any depth is sealed as a whole', async () => {
    const seals = memorySeals()
    const returned = { plan: 'pro', list: [{ key: secret({ text: 'MARKER', inner: secret('INNER') }) }] }
    const stored = await storeContext(checkedContext(returned), seals, 1000)
    expect(stored).toEqual({ sealed: expect.any(String) })
    expect(JSON.stringify(stored)).not.toMatch(/MARKER|INNER|pro/)
    const opened = (await openContext(stored, seals)) as unknown as typeof returned
    expect(opened.list[0]?.key.reveal().text).toBe('MARKER')
    expect(opened.list[0]?.key.reveal().inner.reveal()).toBe('INNER')
    expect(JSON.stringify(opened)).toBe('{"plan":"pro","list":[{"key":"[secret]"}]}')
  })

  test('keeps members that have the name under which secrets are stored', async () => {
    const seals = memorySeals()
    const sent = JSON.parse(
      '{"\\u0000secret":"x","\\u0000\\u0000secret":[{"\\u0000":2}],"__proto__":{"\\u0000secret":3},"other":1}',
    )
    const returned = { filter: sent, key: secret(sent) }
    const context = checkedContext(returned) as unknown as typeof returned
    expect(context.filter).toEqual(sent)
    const opened = (await openContext(
      await storeContext(context as never, seals, 1000),
      seals,
    )) as unknown as typeof returned
    expect(JSON.stringify(opened.filter)).toBe(JSON.stringify(sent))
    expect(JSON.stringify(opened.key.reveal())).toBe(JSON.stringify(sent))
  })

  test('is absent without the option', async () => {
    const seals = memorySeals()
    expect(await storeContext(checkedContext(undefined), seals, 1000)).toBeUndefined()
    expect(await openContext(undefined, seals)).toEqual({})
  })

  test('that cannot be unsealed interrupts its call', async () => {
    const stored = await storeContext(checkedContext({ key: secret('x') }), memorySeals(), 1000)
    await expect(openContext(stored, memorySeals())).rejects.toMatchObject({
      kind: 'call_interrupted',
      message: expect.stringContaining('cannot be unsealed'),
      data: { reason: 'interrupted', retryable: false },
    })
  })
})

describe('a value that is no request context', () => {
  test.each<[string, unknown, string]>([
    ['a text', 'text', 'requestContext of serve() returned a string: return an object'],
    ['null', null, 'requestContext of serve() returned null: return an object'],
    ['a list', [], 'requestContext of serve() returned a list: return an object'],
    ['a date', { at: { since: new Date(0) } }, 'returned a Date at "since": return its text'],
    ['a map', { a: { b: new Map() } }, 'returned a value of the class Map at a.b, which has no JSON form'],
    ['a number without a JSON form', { a: [Number.NaN] }, 'returned NaN at a[0], which has no JSON form'],
    ['a large member', { a: 'x', b: 'y'.repeat(20_000) }, 'most of them in "b" (20002): at most 16384 are allowed'],
  ])('is an error that names the member: %s', (_, returned, problem) => {
    expect(() => checkedContext(returned)).toThrow(problem)
  })

  test('is a secret of a value without a JSON form', () => {
    expect(() => secret({ at: Number.POSITIVE_INFINITY })).toThrow(
      'secret() got Infinity at at, which has no JSON form',
    )
    expect(() => secret(undefined as never)).toThrow(
      new TypeError('secret() got undefined, which has no JSON form: leave the member out of the request context'),
    )
  })
})

test('handlers get a copy of what the option returned', () => {
  const returned = { plan: 'pro' }
  const context = checkedContext(returned)
  expect(context).toEqual(returned)
  expect(context).not.toBe(returned)
})
