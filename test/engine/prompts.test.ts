import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import type { Params } from '../../worker/protocol/types.ts'
import { newServer, refusal, result } from './stage.ts'

describe('getting a prompt', () => {
  const server = newServer()
  server.prompt(
    'review',
    {
      description: 'Reviews',
      argsSchema: z.object({ code: z.string().min(1), count: z.string().transform(Number).optional() }),
    },
    ({ code, count }) => `${code} ${typeof count}`,
  )
  server.prompt('plain', { description: 'Plain' }, () => 'plain')

  test('gives validated arguments to its handler', async () => {
    expect(await result(server, 'prompts/get', { name: 'review', arguments: { code: 'x', count: '5' } })).toEqual({
      description: 'Reviews',
      messages: [{ role: 'user', content: { type: 'text', text: 'x number' } }],
    })
    expect(await result(server, 'prompts/get', { name: 'plain' })).toMatchObject({ description: 'Plain' })
  })

  test.each<[string, Params, RegExp]>([
    ['no name', {}, /^params\.name must be a string$/],
    ['an unknown name', { name: 'no' }, /^Unknown prompt: no$/],
    ['a name every object has', { name: 'toString' }, /^Unknown prompt: toString$/],
    ['a missing argument', { name: 'review' }, /^Invalid arguments for review: code: .+/],
    [
      'an argument that does not fit',
      { name: 'review', arguments: { code: '' } },
      /^Invalid arguments for review: code: .+/,
    ],
    [
      'an argument that is a number',
      { name: 'review', arguments: { code: 5 } },
      /^params\.arguments\.code must be a string$/,
    ],
    ['arguments that are a list', { name: 'review', arguments: [] }, /^params\.arguments must be an object$/],
  ])('with %s is refused', async (_, params, message) => {
    const { kind, message: said } = await refusal(server, 'prompts/get', params)
    expect(kind).toBe('invalid_params')
    expect(said).toMatch(message)
  })
})
