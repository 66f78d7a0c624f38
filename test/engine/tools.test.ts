import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { toolError } from '../../worker/declarations/result-constructors.ts'
import type { Server } from '../../worker/declarations/server.ts'
import { mirroredParameters } from '../../worker/engine/methods/tools.ts'
import { resolve } from '../../worker/engine/resolve.ts'
import { McpError } from '../../worker/protocol/errors.ts'
import { revisions } from '../../worker/protocol/revisions/index.ts'
import type { Params } from '../../worker/protocol/types.ts'
import { newServer, play, refusal, result, textOf } from './stage.ts'

const description = 'd'

describe('calling a tool', () => {
  const server = newServer()
  server.tool(
    'add',
    { description, inputSchema: z.object({ a: z.number(), b: z.number().default(1) }) },
    ({ a, b }) => `${a + b}`,
  )
  server.tool('none', { description }, (input) => JSON.stringify(input))
  server.tool('throws', { description }, () => {
    throw new Error('It failed')
  })
  const call = (params: Params) => result(server, 'tools/call', params)

  test('gives validated arguments to its handler', async () => {
    expect(await call({ name: 'add', arguments: { a: 1 } })).toEqual({ content: [{ type: 'text', text: '2' }] })
  })

  test('with invalid arguments returns an error to the model', async () => {
    const answer = await call({ name: 'add', arguments: { a: 'x' } })
    expect(answer.isError).toBe(true)
    expect(textOf(answer)).toMatch(/^Invalid arguments for add: a: .+/)
  })

  test('without arguments counts as a call with an empty object', async () => {
    expect(textOf(await call({ name: 'add' }))).toMatch(/^Invalid arguments for add: a: /)
    expect(textOf(await call({ name: 'none' }))).toBe('{}')
  })

  test('refuses arguments of a tool without a schema, as its list says', async () => {
    const { tools } = await result(server, 'tools/list')
    expect(tools).toContainEqual(
      expect.objectContaining({ name: 'none', inputSchema: { type: 'object', additionalProperties: false } }),
    )
    expect(await call({ name: 'none', arguments: { surprise: 1 } })).toEqual(
      toolError('Invalid arguments for none: surprise: The tool takes no arguments'),
    )
  })

  test.each<[string, Params, string]>([
    ['no name', {}, 'params.name must be a string'],
    ['a name that is a number', { name: 5 }, 'params.name must be a string'],
    ['an unknown name', { name: 'no' }, 'Unknown tool: no'],
    ['a name every object has', { name: 'constructor' }, 'Unknown tool: constructor'],
    ['arguments that are a list', { name: 'add', arguments: [] }, 'params.arguments must be an object'],
    ['arguments that are a text', { name: 'add', arguments: '{}' }, 'params.arguments must be an object'],
  ])('with %s is refused', async (_, params, message) => {
    const { kind, message: said } = await refusal(server, 'tools/call', params)
    expect([kind, said]).toEqual(['invalid_params', message])
  })
})

describe('a tool that fails', () => {
  const failing = (handler: () => unknown) =>
    newServer().use((server: Server) => void server.tool('t', { description }, handler as () => string))
  const call = (handler: () => unknown) => play(failing(handler), 'tools/call', { name: 't' })

  test('returns the error to the model and reports it to the developer', async () => {
    const error = new Error('It failed')
    const { outcome, reported } = await call(() => {
      throw error
    })
    expect(outcome).toMatchObject({ type: 'result', result: toolError('It failed') })
    expect(reported).toEqual([error])
  })

  test.each([[undefined], ['a text'], [new Error('')]])(
    'without a message returns "The tool failed": %j',
    async (thrown) => {
      const { outcome } = await call(() => {
        throw thrown
      })
      expect(outcome).toMatchObject({ type: 'result', result: toolError('The tool failed') })
    },
  )

  test('by a rejected promise returns the error as well', async () => {
    const { outcome } = await call(() => Promise.reject(new Error('later')))
    expect(outcome).toMatchObject({ type: 'result', result: toolError('later') })
  })

  test('after its call was cancelled is not reported', async () => {
    const abort = new AbortController()
    const server = failing(() => {
      abort.abort()
      throw new Error('aborted')
    })
    const { reported } = await play(server, 'tools/call', { name: 't' }, { signal: abort.signal })
    expect(reported).toEqual([])
  })

  test('with a protocol error ends the call with it', async () => {
    const server = failing(() => {
      throw new McpError('invalid_params', 'Refused', { why: 'test' })
    })
    expect(await refusal(server, 'tools/call', { name: 't' })).toMatchObject({
      kind: 'invalid_params',
      message: 'Refused',
      data: { why: 'test' },
    })
  })

  test('with a value that does not match its output schema returns an error and reports it', async () => {
    const server = newServer()
    server.tool('t', { description, outputSchema: z.object({ sum: z.number() }) }, () => ({ sum: 'x' }) as never)
    const { outcome, reported } = await play(server, 'tools/call', { name: 't' })
    const message = expect.stringMatching(/^Tool "t" returned a value that does not match its output schema: sum: /)
    expect(outcome).toMatchObject({
      type: 'result',
      result: { content: [{ type: 'text', text: message }], isError: true },
    })
    expect(reported).toEqual([expect.objectContaining({ message })])
  })
})

describe('the mirrored arguments', () => {
  const input = { type: 'object', properties: { a: { type: 'string', 'x-mcp-header': 'A' } } } as const
  const server = newServer()
  server.tool('mirrors', { description, inputSchema: input }, () => '')
  server.tool('hidden', { description, inputSchema: input, visibleTo: () => false }, () => '')
  server.tool('plain', { description }, () => '')
  const mirrored = async (method: string, params: Params) => {
    const call = {
      method,
      params,
      revision: revisions[0] as never,
      capabilities: {},
      client: undefined,
      principal: undefined,
      requestContext: {},
      session: undefined,
      logLevel: undefined,
    }
    const target = resolve(server.declarations, call)
    const { tool } = target.found
    return tool ? (await mirroredParameters(tool, call, target)).map(({ header }) => header) : []
  }

  test('are those of the called tool', async () => {
    expect(await mirrored('tools/call', { name: 'mirrors' })).toEqual(['A'])
    expect(await mirrored('tools/call', { name: 'plain' })).toEqual([])
  })

  test('are empty for other methods, unknown tools and hidden tools', async () => {
    expect(await mirrored('prompts/get', { name: 'mirrors' })).toEqual([])
    expect(await mirrored('tools/call', { name: 'no' })).toEqual([])
    expect(await mirrored('tools/call', { name: 5 })).toEqual([])
    expect(await mirrored('tools/call', { name: 'hidden' })).toEqual([])
  })
})
