/**
 * A loop in which the client's model calls tools: request a message, run the tools that it calls, send their results, repeat.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/client/sampling#multi-turn-tool-loop
 */

import type { AskOptions, Awaitable, Context, SamplingRequest, SamplingResult } from '../../declarations/context.ts'
import { toolError } from '../../declarations/result-constructors.ts'
import { callToolResult } from '../../declarations/returned-values.ts'
import {
  type Infer,
  issuesText,
  type JsonSchemaReader,
  readSchema,
  type Schema,
  type Validator,
} from '../../declarations/schema.ts'
import { reportIn } from '../../engine/call-context.ts'
import { toolFailure } from '../../engine/failure.ts'
import type { CallToolResult, SamplingMessage, ToolItem } from '../../protocol/types.ts'
import { type ReadToolUse, readToolUses, type ToolUse } from './tool-uses.ts'

/** Defines a tool for the client's model. */
export type ModelTool<S extends Schema = Schema> = {
  /** Explains to the model what the tool does. */
  description: string
  /** The schema of the arguments, an object. */
  inputSchema: S
  /**
   * Returns text, content blocks or a value, as the handler of a tool does. The model receives its errors. Runs once per call, inside
   * `once`, so it must not send input requests.
   */
  execute(input: Infer<S>): Awaitable<unknown>
}

/** Describes a conversation: a sampling request with tools. */
export type ConverseRequest<S extends Record<string, Schema>> = Omit<SamplingRequest, 'tools'> & {
  /** Tools that the model may call, by name. */
  tools: { readonly [K in keyof S]: ModelTool<S[K]> }
  /** Messages that are requested of the model; in the last turn it may not call tools. Default: 10. */
  maxTurns?: number
  /** Tools that the model may call in one turn. Further calls are answered with an error. Default: 16. */
  maxToolCalls?: number
  /** The validator for plain JSON Schemas: `jsonSchema` of `edgemcp/json-schema`. Default: none; only Standard Schemas are accepted. */
  jsonSchema?: JsonSchemaReader
}

/** Holds the last message of the model, and the conversation. */
export type ConverseResult = SamplingResult & {
  /** Messages that were requested of the model. */
  readonly turns: number
  /** All messages, including the last one. */
  readonly messages: readonly SamplingMessage[]
}

/**
 * Requests a message of the client's model, and lets it call tools until it answers. Calls of one turn run at the same time. Invalid
 * arguments, unknown names, failures and malformed calls are sent to the model as errors, so that it can correct them.
 *
 * @param key identifies the conversation in the call; its input requests are `<key>-1`, `<key>-2` …
 * @param options applies to each input request
 * @throws McpError `missing_client_capability` when the client does not support tools in sampling; ClientError when the client responds
 * with an error
 * @throws Error when the schema of a tool is not an object, or `maxToolCalls` is not a positive integer
 * @see https://modelcontextprotocol.io/specification/2025-11-25/client/sampling#multi-turn-tool-loop
 *
 * @example
 * server.tool('plan', { description: 'Plan a trip' }, async (_, ctx) => {
 *   const forecast = {
 *     description: 'Forecast for a city',
 *     inputSchema: zod.object({ city: zod.string() }),
 *     execute: ({ city }: { city: string }) => `Sun in ${city}`,
 *   }
 *   const { text } = await converse(ctx, 'plan', { prompt: 'Plan a day in Paris.', maxTokens: 500, tools: { forecast } })
 *   return text
 * })
 */
export async function converse<const S extends Record<string, Schema>>(
  ctx: Context,
  key: string,
  {
    tools,
    maxTurns = 10,
    maxToolCalls = 16,
    jsonSchema,
    toolChoice,
    prompt = '',
    messages: history,
    ...request
  }: ConverseRequest<S>,
  options?: AskOptions,
): Promise<ConverseResult> {
  if (!Number.isInteger(maxToolCalls) || maxToolCalls < 1) {
    throw new Error(`converse: maxToolCalls is ${maxToolCalls}, but must be an integer of at least 1`)
  }
  const inputs = new Map(
    Object.entries(tools).map(([name, { inputSchema }]) => [
      name,
      readSchema(inputSchema, 'input', `inputSchema of the model's tool "${name}"`, jsonSchema),
    ]),
  )
  const items = [...inputs].map(([name, { jsonSchema }]): ToolItem => {
    if (jsonSchema.type !== 'object')
      throw new Error(`The inputSchema of the model's tool "${name}" must be an object schema`)
    return { name, description: tools[name]?.description, inputSchema: jsonSchema }
  })
  const messages: SamplingMessage[] = history
    ? [...history]
    : [{ role: 'user', content: { type: 'text', text: prompt } }]

  for (let turn = 1; ; turn++) {
    const choice = turn === maxTurns ? { mode: 'none' as const } : turn === 1 ? toolChoice : undefined
    const sampling = { ...request, messages: [...messages], tools: items, ...(choice && { toolChoice: choice }) }
    const answer = await ctx.sample(`${key}-${turn}`, sampling, options)
    const { content, uses } = readToolUses(answer.content, (index) => `${key}-${turn}-${index}`)
    messages.push({ role: 'assistant', content })
    if (uses.length === 0 || turn >= maxTurns) return { ...answer, turns: turn, messages }
    const resultOf = ({ use, problem }: ReadToolUse, index: number) => {
      if (problem !== undefined) return toolError(`Not run: ${problem}`)
      return index < maxToolCalls
        ? ctx.once(`${key}-${turn} ${use.name} ${index}`, () => call(ctx, use, tools, inputs))
        : toolError(`Not run: a turn may call at most ${maxToolCalls} tools, and this turn calls ${uses.length}`)
    }
    const results = uses.map(async (read, index) => {
      const result = await resultOf(read, index)
      return { type: 'tool_result' as const, toolUseId: read.use.id, ...result }
    })
    // A message with tool results must not contain other blocks.
    messages.push({ role: 'user', content: await Promise.all(results) })
  }
}

/** Runs a tool. Never throws: errors become results for the model. */
async function call(
  ctx: Context,
  { name, input }: ToolUse,
  tools: Readonly<Record<string, ModelTool>>,
  inputs: ReadonlyMap<string, Validator>,
): Promise<CallToolResult> {
  const validator = inputs.get(name)
  const tool = tools[name]
  if (!validator || !tool) return toolError(`There is no tool "${name}"`)
  try {
    const checked = await validator.check(input)
    if ('issues' in checked) return toolError(`Invalid arguments for ${name}: ${issuesText(checked.issues)}`)
    return await callToolResult(await tool.execute(checked.value), undefined, name)
  } catch (thrown) {
    return toolFailure(thrown, () => reportIn(ctx, thrown, `The model's tool "${name}"`))
  }
}
