import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import type { Context } from '../../worker/declarations/context.ts'
import { jsonSchema } from '../../worker/declarations/json-schema/index.ts'
import { toolError } from '../../worker/declarations/result-constructors.ts'
import type { Server } from '../../worker/declarations/server.ts'
import { converse, type ModelTool } from '../../worker/plugins/sampling/index.ts'
import type { InputRequest, SamplingMessage } from '../../worker/protocol/types.ts'
import { newServer, converse as play, refusal, textOf } from '../engine/stage.ts'
import { count } from '../support/full.ts'

type Use = { name: string; input?: object; id?: string }
type Asked = { messages: SamplingMessage[]; tools: unknown[]; toolChoice?: { mode: string } }

const uses = (...those: Use[]) => ({
  role: 'assistant',
  model: 'm',
  stopReason: 'toolUse',
  content: those.map(({ name, input = {}, id = name }) => ({ type: 'tool_use', id, name, input })),
})
const says = (text: string) => ({
  role: 'assistant',
  model: 'm',
  stopReason: 'endTurn',
  content: { type: 'text', text },
})

/** Plays a conversation with a model that answers this, one after the other. */
async function talk(handler: (ctx: Context) => Promise<unknown>, ...answers: object[]) {
  const server = newServer().use(
    (server: Server) =>
      void server.tool('t', { description: 'd' }, async (_, ctx) => JSON.stringify(await handler(ctx))),
  )
  const asked: Asked[] = []
  const model = (_: string, { params }: InputRequest) => {
    asked.push(params as Asked)
    const answer = answers.shift()
    return answer && { result: answer }
  }
  const played = await play(server, 'tools/call', { name: 't' }, model)
  return { ...played, asked, text: textOf(played.result) }
}

const add: ModelTool<typeof Sum> = {
  description: 'Adds two numbers',
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => a + b,
}
const Sum = z.object({ a: z.number(), b: z.number() })
const request = { prompt: 'How much?', maxTokens: 10 }
const told = (asked: Asked | undefined) => asked?.messages.at(-1)

test('converse() runs the tools that a model calls, and returns its answer', async () => {
  const { asked, text, rounds } = await talk(
    async (ctx) => {
      const { text, turns, messages, stopReason } = await converse(ctx, 'sum', { ...request, tools: { add } })
      return [text, turns, messages.length, stopReason]
    },
    uses({ name: 'add', input: { a: 1, b: 2 } }),
    says('It is 3'),
  )
  expect(JSON.parse(text)).toEqual(['It is 3', 2, 4, 'endTurn'])
  expect(rounds).toEqual([['sum-1'], ['sum-2']])
  const tools = [
    { name: 'add', description: 'Adds two numbers', inputSchema: expect.objectContaining({ type: 'object' }) },
  ]
  expect(asked).toEqual([
    { messages: [{ role: 'user', content: { type: 'text', text: 'How much?' } }], tools, maxTokens: 10 },
    {
      messages: [
        { role: 'user', content: { type: 'text', text: 'How much?' } },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'add', name: 'add', input: { a: 1, b: 2 } }] },
        {
          role: 'user',
          content: [{ type: 'tool_result', toolUseId: 'add', content: [{ type: 'text', text: '3' }] }],
        },
      ],
      tools,
      maxTokens: 10,
    },
  ])
})

test('tools of one turn run concurrently, each once, and each call gets its own result', async () => {
  let running = 0
  let runs = 0
  let most = 0
  const slow: ModelTool = {
    description: 'd',
    inputSchema: z.object({ n: z.number() }),
    async execute({ n }) {
      runs += 1
      running += 1
      most = Math.max(most, running)
      await undefined
      running -= 1
      return { n }
    },
  }
  const { asked } = await talk(
    (ctx) => converse(ctx, 'c', { ...request, tools: { slow } }),
    uses({ name: 'slow', input: { n: 1 }, id: 'x' }, { name: 'slow', input: { n: 2 }, id: 'y' }),
    uses({ name: 'slow', input: { n: 3 }, id: 'x' }),
    says('done'),
  )
  expect([most, runs]).toEqual([2, 3])
  expect(told(asked[1])?.content).toEqual([
    { type: 'tool_result', toolUseId: 'x', content: [{ type: 'text', text: '{"n":1}' }] },
    { type: 'tool_result', toolUseId: 'y', content: [{ type: 'text', text: '{"n":2}' }] },
  ])
})

test.each([
  ['an unknown name', { name: 'subtract' }, 'There is no tool "subtract"'],
  ['the name of an inherited member', { name: 'toString' }, 'There is no tool "toString"'],
  ['arguments that do not fit', { name: 'add', input: { a: 1 } }, /^Invalid arguments for add: b: /],
  ['a tool that throws', { name: 'broken' }, 'It broke'],
  ['a tool that returns an error', { name: 'failing' }, 'No'],
  [
    'a tool that returns a value without a JSON form',
    { name: 'odd' },
    /^Tool "odd" returned a function, which has no JSON form/,
  ],
])('%s is an error for the model', async (_, use, message) => {
  const tools = {
    add,
    broken: {
      description: 'd',
      inputSchema: z.object({}),
      execute() {
        throw new Error('It broke')
      },
    },
    failing: { description: 'd', inputSchema: z.object({}), execute: () => toolError('No') },
    odd: { description: 'd', inputSchema: z.object({}), execute: () => () => 1 },
  }
  const { asked } = await talk((ctx) => converse(ctx, 'c', { ...request, tools }), uses(use), says('Sorry'))
  expect(told(asked[1])?.content).toEqual([
    {
      type: 'tool_result',
      toolUseId: use.name,
      isError: true,
      content: [{ type: 'text', text: expect.stringMatching(message) }],
    },
  ])
})

test.each<[string, { maxToolCalls?: number }, number]>([
  ['16', {}, 16],
  ['as many as maxToolCalls', { maxToolCalls: 2 }, 2],
])('in one turn at most %s tool calls run, and the others get an error', async (_, options, most) => {
  let runs = 0
  const callCount = count(2_000, 20_000)
  const counted: ModelTool = { description: 'd', inputSchema: z.object({}), execute: () => `run ${++runs}` }
  const calls = Array.from({ length: callCount }, (_, index) => ({ name: 'counted', id: `${index}` }))
  const { asked } = await talk(
    (ctx) => converse(ctx, 'c', { ...request, ...options, tools: { counted } }),
    uses(...calls),
    says('done'),
  )
  expect(runs).toBe(most)
  const results = told(asked[1])?.content as unknown as Record<string, unknown>[]
  expect(results).toHaveLength(callCount)
  expect(results[most - 1]).toMatchObject({ toolUseId: `${most - 1}`, content: [{ text: `run ${most}` }] })
  expect(results[most]).toEqual({
    type: 'tool_result',
    toolUseId: `${most}`,
    isError: true,
    content: [
      { type: 'text', text: `Not run: a turn may call at most ${most} tools, and this turn calls ${callCount}` },
    ],
  })
})

describe('a tool_use that is malformed', () => {
  type Block = Record<string, unknown>
  const input = { a: 1, b: 2 }
  const valid = { type: 'tool_use', id: 'valid', name: 'add', input }

  /** What the model is told after it called these. */
  async function answered(...blocks: Block[]) {
    const runs: unknown[] = []
    const counting = { ...add, execute: (given: z.infer<typeof Sum>) => runs.push(given) }
    const turn = { role: 'assistant', model: 'm', stopReason: 'toolUse', content: blocks }
    const { asked, text } = await talk(
      async (ctx) => (await converse(ctx, 'c', { ...request, tools: { add: counting } })).text,
      turn,
      says('Sorry'),
    )
    expect(text).toBe('"Sorry"')
    const [calls, results] = (asked[1]?.messages.slice(-2) ?? []).map(({ content }) => content as unknown as Block[])
    return { runs, calls, results }
  }
  const failed = (text: string) => ({ type: 'tool_result', isError: true, content: [{ type: 'text', text }] })

  test.each<[string, Block, string]>([
    ['without an id', { id: undefined }, 'the id of this tool_use is missing: it must be a string that is not empty'],
    ['with an empty id', { id: '' }, 'the id of this tool_use is "": it must be a string that is not empty'],
    ['with a number as its id', { id: 7 }, 'the id of this tool_use is 7: it must be a string that is not empty'],
    ['without a name', { name: undefined }, 'the name of this tool_use is missing: it must be a string'],
    ['without an input', { input: undefined }, 'the input of this tool_use is missing: it must be an object'],
    [
      'with a text as its input',
      { input: '{"a":1}' },
      'the input of this tool_use is "{\\"a\\":1}": it must be an object',
    ],
    ['with a list as its input', { input: [1, 2] }, 'the input of this tool_use is [1,2]: it must be an object'],
    ['with null as its input', { input: null }, 'the input of this tool_use is null: it must be an object'],
  ])('is answered with an error and not run, beside a valid one that runs: %s', async (_, wrong, problem) => {
    const { runs, calls, results } = await answered({ ...valid, id: 'wrong', ...wrong }, valid)
    expect(runs).toEqual([input])
    expect(results).toEqual([
      { ...failed(`Not run: ${problem}`), toolUseId: calls?.[0]?.id },
      { type: 'tool_result', toolUseId: 'valid', content: [{ type: 'text', text: '1' }] },
    ])
    expect(calls?.[1]).toEqual(valid)
    // The client gets back what it could have sent: an id, a name and an object.
    expect(calls?.[0]).toEqual({
      type: 'tool_use',
      id: expect.stringMatching(/./),
      name: expect.any(String),
      input: expect.any(Object),
    })
    expect(calls?.[0]?.id).not.toBe('valid')
  })

  test('because its id occurs twice does not run, and neither does the other one', async () => {
    const { runs, calls, results } = await answered(
      valid,
      { ...valid, input: { a: 3, b: 4 } },
      { ...valid, id: 'c-1-0' },
    )
    expect(runs).toEqual([input])
    const ids = calls?.map(({ id }) => id)
    expect(new Set(ids).size).toBe(3)
    const problem = 'Not run: 2 tool_use blocks of one message have the id "valid": give each its own id'
    expect(results).toMatchObject([failed(problem), failed(problem), { content: [{ text: '1' }] }])
    expect(results?.map(({ toolUseId }) => toolUseId)).toEqual(ids)
  })
})

test.each([0, -1, 1.5, Number.NaN])('maxToolCalls %d is refused', async (maxToolCalls) => {
  const { result, text } = await talk((ctx) => converse(ctx, 'c', { ...request, maxToolCalls, tools: { add } }))
  expect(result.isError).toBe(true)
  expect(text).toBe(`converse: maxToolCalls is ${maxToolCalls}, but must be an integer of at least 1`)
})

test('the last turn has the toolChoice none, and the first the given one', async () => {
  const { asked, text } = await talk(
    async (ctx) => {
      const options = { ...request, tools: { add }, maxTurns: 3, toolChoice: { mode: 'required' as const } }
      return (await converse(ctx, 'c', options)).turns
    },
    uses({ name: 'add', input: { a: 1, b: 2 } }),
    uses({ name: 'add', input: { a: 3, b: 2 } }),
    uses({ name: 'add', input: { a: 4, b: 2 } }),
  )
  expect(asked.map(({ toolChoice }) => toolChoice?.mode)).toEqual(['required', undefined, 'none'])
  expect(text).toBe('3')
})

test('converse() accepts messages and a plain JSON Schema', async () => {
  const echo = {
    description: 'd',
    inputSchema: { type: 'object', properties: { x: { type: 'string' } }, required: ['x'] },
    execute: ({ x }: { x: string }) => x,
  } as const
  const messages: SamplingMessage[] = [{ role: 'user', content: { type: 'text', text: 'Go on' } }]
  const { asked } = await talk(
    (ctx) => converse(ctx, 'c', { messages, maxTokens: 5, tools: { echo }, jsonSchema }),
    uses({ name: 'echo', input: { x: 'hi' } }),
    says('done'),
  )
  expect(told(asked[0])).toEqual(messages[0])
  expect(told(asked[1])?.content).toMatchObject([{ content: [{ text: 'hi' }] }])
  expect(messages).toHaveLength(1)
})

test('a client without sampling.tools gets no request', async () => {
  const server = newServer().use(
    (server: Server) =>
      void server.tool('t', { description: 'd' }, async (_, ctx) => {
        return (await converse(ctx, 'c', { ...request, tools: { add } })).text
      }),
  )
  const { data } = await refusal(server, 'tools/call', { name: 't' }, { capabilities: { sampling: {} } })
  expect(data).toEqual({ requiredCapabilities: { sampling: { tools: {} } } })
})

test('a tool whose inputSchema is not an object is an error that names it', async () => {
  const odd = { description: 'd', inputSchema: z.string(), execute: () => '' }
  const { text, result } = await talk((ctx) => converse(ctx, 'c', { ...request, tools: { odd } }))
  expect(result.isError).toBe(true)
  expect(text).toBe('The inputSchema of the model\'s tool "odd" must be an object schema')
})
