import { type HeaderParameter, headerParameters } from '../protocol/param-headers.ts'
import type {
  CallToolResult,
  ContentBlock,
  Icon,
  JsonSchema,
  Meta,
  ToolAnnotations,
  ToolItem,
} from '../protocol/types.ts'
import type { AccessOptions, Guarded } from './caller.ts'
import type { Awaitable, Context } from './context.ts'
import {
  type Infer,
  type InferInput,
  type JsonSchemaReader,
  readSchema,
  type Schema,
  type Validator,
} from './schema.ts'

export type ToolDefinition<I extends Schema | undefined, O extends Schema | undefined> = AccessOptions & {
  title?: string
  description: string
  /** What the tool takes: an object. Left out, it takes nothing. */
  inputSchema?: I
  /** What the tool returns. Left out, it returns text or content. */
  outputSchema?: O
  annotations?: ToolAnnotations
  /**
   * Each answer of a stateless client is taken once: sent again, it gets the same outcome instead of running the handler
   * once more. For tools that ask and then do what must not be done twice; costs two object requests an answer.
   */
  singleUse?: boolean
  /** Long work that outlives connections: takes `tasks()` of `edgemcp/tasks`. */
  task?: boolean | TaskOptions
  icons?: Icon[]
  _meta?: Meta
}

/** How a tool is run as a task. Durations are milliseconds, or texts such as `2s`, `10m`, `1h`, `7d`. */
export type TaskOptions = {
  /** Clients that know no tasks are refused. Default: they wait for the answer. */
  required?: boolean
  /** A result or an input request that is there by then is the response, without a task. Default: the call becomes a task at once. */
  answerWithin?: number | string
  /** From its beginning, how long it is kept; work that is not done by then is cancelled. Default one day. */
  ttl?: number | string
  /** How often clients should look. Default one second. */
  pollInterval?: number | string
  /** How often it is run again when its handler throws, with a growing pause. Default: not at all. */
  retries?: number
}

/** What a tool may return: its output value if it declares one; text, content blocks or a full result otherwise. */
export type ToolReturn<O> = [O] extends [Schema]
  ? InferInput<O> | CallToolResult
  : // biome-ignore lint/suspicious/noConfusingVoidType: a handler without a return statement returns void
    string | ContentBlock | ContentBlock[] | CallToolResult | undefined | void

export type ToolInput<I> = [I] extends [Schema] ? Infer<I> : Record<string, never>

export type ToolHandler<I, O> = (input: ToolInput<I>, ctx: Context) => Awaitable<ToolReturn<O>>

/** A registered tool. */
export type Tool = Guarded & {
  readonly item: ToolItem
  readonly input: Validator | undefined
  readonly output: Validator | undefined
  readonly mirrored: readonly HeaderParameter[]
  readonly singleUse: boolean
  readonly task: boolean | TaskOptions | undefined
  readonly handler: (input: unknown, ctx: Context) => unknown
}

const noInput: JsonSchema = { type: 'object', additionalProperties: false }

/** @throws Error with one sentence that names the fix */
export function defineTool(
  name: string,
  definition: ToolDefinition<Schema | undefined, Schema | undefined>,
  handler: Tool['handler'],
  reader?: JsonSchemaReader,
): Tool {
  const {
    inputSchema: input,
    outputSchema,
    visibleTo,
    task,
    singleUse = false,
    title,
    description,
    annotations,
    icons,
    _meta,
  } = definition
  const inputValidator = input && readSchema(input, 'input', `input of tool "${name}"`, reader)
  const outputValidator = outputSchema && readSchema(outputSchema, 'output', `output of tool "${name}"`, reader)
  const inputSchema = inputValidator?.jsonSchema ?? noInput
  return {
    // In the order the specification lists them, without members that were not given.
    item: JSON.parse(
      JSON.stringify({
        name,
        title,
        description,
        inputSchema,
        outputSchema: outputValidator?.jsonSchema,
        annotations,
        icons,
        _meta,
      }),
    ),
    input: inputValidator,
    output: outputValidator,
    mirrored: headerParameters(inputSchema),
    visibleTo,
    singleUse,
    task,
    handler,
  }
}
