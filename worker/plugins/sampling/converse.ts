/**
 * The loop of a model that calls tools: ask it, do what it wants done, tell it what came of it, ask again.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/client/sampling#multi-turn-tool-loop
 */

import { callToolResult, failureOf, toolError } from '../../declarations/content.ts'
import type { AskOptions, Awaitable, Context, SamplingRequest, SamplingResult } from '../../declarations/context.ts'
import {
  type Infer,
  issuesText,
  type JsonSchemaReader,
  readSchema,
  type Schema,
  type Validator,
} from '../../declarations/schema.ts'
import type { CallToolResult, SamplingMessage, ToolItem } from '../../protocol/types.ts'
import { type ReadToolUse, readToolUses, type ToolUse } from './tool-uses.ts'

/** What a model may call while it thinks. */
export type ModelTool<S extends Schema = Schema> = {
  /** Models choose tools by it. */
  description: string
  inputSchema: S
  /**
   * Returns what a tool of a server may return. What it throws, the model is told. It runs once, in `once`, so it asks nobody
   * anything itself.
   */
  execute(input: Infer<S>): Awaitable<unknown>
}

export type ConverseRequest<S extends Record<string, Schema>> = Omit<SamplingRequest, 'tools'> & {
  /** By name. */
  tools: { readonly [K in keyof S]: ModelTool<S[K]> }
  /** How often the model is asked at most; the last time it may call nothing. Default 10. */
  maxTurns?: number
  /** Tools that the model may call in one turn. Calls beyond are not run: the model is told so as an error. Default 16. */
  maxToolCalls?: number
  /** The checker for plain JSON Schemas, of `edgemcp/json-schema`, if an input is one. */
  jsonSchema?: JsonSchemaReader
}

/** The model's last answer, and how it got there. */
export type ConverseResult = SamplingResult & {
  /** How often it was asked. */
  readonly turns: number
  /** Everything that was said, its last answer included. */
  readonly messages: readonly SamplingMessage[]
}

/**
 * Asks the client's model, and lets it call tools until it has its answer. Tools that it calls together run together.
 * Arguments that do not fit, unknown names, failures and malformed calls are sent to the model as errors, so that it can correct them. A malformed
 * call, or one with the id of another, does not run.
 *
 * @param key names the conversation in this call; its questions are `<key>-1`, `<key>-2` …
 * @throws McpError `missing_client_capability` when the client's model cannot call tools; `client_error` when the client
 *   refused
 * @throws Error when a tool's input is not the schema of an object, or `maxToolCalls` is not a positive integer
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
      readSchema(inputSchema, 'input', `input of the model's tool "${name}"`, jsonSchema),
    ]),
  )
  const items = [...inputs].map(([name, { jsonSchema }]): ToolItem => {
    if (jsonSchema.type !== 'object')
      throw new Error(`The input of the model's tool "${name}" must be an object schema`)
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
        ? ctx.once(`${key}-${turn} ${use.name} ${index}`, () => call(use, tools, inputs))
        : toolError(`Not run: a turn may call at most ${maxToolCalls} tools, and this turn calls ${uses.length}`)
    }
    const results = uses.map(async (read, index) => {
      const result = await resultOf(read, index)
      return { type: 'tool_result' as const, toolUseId: read.use.id, ...result }
    })
    // Nothing else may stand beside results.
    messages.push({ role: 'user', content: await Promise.all(results) })
  }
}

/** Never throws: the model is told. */
async function call(
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
    return failureOf(thrown)
  }
}
