import { expect, test } from 'vitest'
import type { Proxied } from '../../worker/compose/proxy/proxied.ts'
import { relayed } from '../../worker/compose/proxy/rounds.ts'
import type { Asked } from '../../worker/engine/methods/method.ts'

/** A call whose upstream answers with this. */
const answeredWith = (result: object) => {
  const asked = {
    call: { method: 'tools/call', params: {} },
    context: { once: (_: string, run: () => unknown) => run() },
  }
  const upstream = {
    around: (asked: Asked, answer: (asked: Asked) => unknown) => answer(asked),
    request: async () => result,
  }
  // The parts of both that a call without questions touches.
  return relayed(asked as unknown as Asked, upstream as unknown as Proxied, {})
}

test('a result of an upstream is passed on', async () => {
  const result = { resultType: 'complete', content: [], _meta: { 'com.example/a': 1 } }
  expect(await answeredWith(result)).toEqual(result)
})

test.each(['task', 'anything', 5])('a result of the type %j is not passed on', async (resultType) => {
  await expect(answeredWith({ resultType, content: [] })).rejects.toMatchObject({
    kind: 'internal_error',
    message: `The server behind this one answered with the result type ${JSON.stringify(resultType)}: proxy() passes on complete results and questions only`,
  })
})
