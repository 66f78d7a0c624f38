/** Tools: their definition, and the registered entry. */
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
import type { AccessOptions, Caller, Guarded } from './caller.ts'
import { checkInputSchema } from './check-declarations.ts'
import type { Awaitable, Context } from './context.ts'
import type { Duration } from './duration.ts'
import {
  type Infer,
  type InferInput,
  isStandard,
  type JsonSchemaReader,
  readSchema,
  type Schema,
  type Validator,
} from './schema.ts'

/**
 * Defines a tool.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/tools#tool
 */
export type ToolDefinition<I extends Schema | undefined, O extends Schema | undefined> = AccessOptions & {
  /** Name for users. Default: none. */
  title?: string
  /** Explains to models what the tool does and when to use it. */
  description: string
  /**
   * The schema of the arguments, an object. It may be a function of the caller that returns the schema: see `ToolDefinitionByCaller`.
   * Default: the tool has no arguments.
   */
  inputSchema?: I
  /**
   * The schema of the value that the handler returns, which becomes `structuredContent`. Default: the handler returns text or content
   * blocks.
   */
  outputSchema?: O
  /** Hints for clients about side effects. Default: none. */
  annotations?: ToolAnnotations
  /**
   * Accepts each input response of a stateless client once. A repeated response gets the stored outcome, and the handler does not run
   * again. For tools that ask for confirmation before an action that must not happen twice; costs two requests to a Durable Object per
   * response. Default: false.
   */
  singleUse?: boolean
  /** Runs the tool as a task, which outlives connections. Needs the plugin `tasks()` of `edgemcp/tasks`. Default: false. */
  task?: boolean | TaskOptions
  /** Icons for users. Default: none. */
  icons?: readonly Icon[]
  /** Metadata for clients, sent unchanged. Default: none. */
  _meta?: Meta
}

/** Defines a tool whose arguments depend on the caller. */
export type ToolDefinitionByCaller<S extends Schema, O extends Schema | undefined> = Omit<
  ToolDefinition<undefined, O>,
  'inputSchema'
> & {
  /**
   * Returns the schema of the arguments for one caller. The list shows each caller its own schema, which validates its calls. Return one of a
   * few schemas that you create once, because each new schema is compiled.
   */
  inputSchema: (caller: Caller) => Awaitable<S>
}

/** Configures how a tool runs as a task. Durations are milliseconds, or texts such as `2s`, `10m`, `1h`, `7d`. */
export type TaskOptions = {
  /** Rejects calls of clients without support for tasks. Default: false; such clients wait for the result. */
  required?: boolean
  /** Duration in which a result or an input request is the response itself, without a task. Default: 0; each call creates a task at once. */
  answerWithin?: Duration
  /** Duration after its start for which a task is stored. A task that still runs then is cancelled. Default: 1 day. */
  ttl?: Duration
  /** Duration between polls that clients should keep. Default: 1 second. */
  pollInterval?: Duration
  /** Times that the handler runs again after it throws, with growing pauses. Default: 0. */
  retries?: number
}

/** Accepts what a tool handler may return: the value of its output schema, or else text, content blocks or a full result. */
export type ToolReturn<O> =
  // The result is outside the conditional type: TypeScript keeps the literal types of content blocks only then.
  // biome-ignore lint/suspicious/noConfusingVoidType: a handler without a return statement returns void
  | ([O] extends [Schema] ? InferInput<O> : string | ContentBlock | readonly ContentBlock[] | undefined | void)
  | (Omit<CallToolResult, 'content'> & { readonly content: readonly ContentBlock[] })

/** Computes the type of the validated arguments of a tool. */
export type ToolInput<I> = [I] extends [Schema] ? Infer<I> : Record<string, never>

/** Runs a tool. Gets the validated arguments, and returns text, content blocks, the value of the output schema or a full result. */
export type ToolHandler<I, O> = (input: ToolInput<I>, ctx: Context) => Awaitable<ToolReturn<O>>

/** What a schema of arguments means for lists and calls. */
export type CallerInput = {
  readonly input: Validator
  /** The arguments that headers repeat. */
  readonly mirrored: readonly HeaderParameter[]
}

/** A registered tool. */
export type Tool = Guarded & {
  readonly item: ToolItem
  readonly input: Validator
  readonly output: Validator | undefined
  readonly mirrored: readonly HeaderParameter[]
  /** Returns the input of one caller; `undefined` if it is the same for all callers. */
  readonly inputOf: ((caller: Caller) => Promise<CallerInput>) | undefined
  readonly singleUse: boolean
  readonly task: boolean | TaskOptions | undefined
  readonly handler: (input: unknown, ctx: Context) => unknown
}

/** @see https://modelcontextprotocol.io/specification/2026-07-28/server/tools#tool */
const noInput: Validator = {
  jsonSchema: { type: 'object', additionalProperties: false },
  check: (args) => {
    const [path] = Object.keys(args as object) // as every caller of a tool checks
    return path === undefined ? { value: {} } : { issues: [{ path, message: 'The tool takes no arguments' }] }
  },
}
/** Stands for the schemas of all callers. */
const anyInput: JsonSchema = { type: 'object' }

type InputSchemaOf = ToolDefinitionByCaller<Schema, undefined>['inputSchema']

/** Schemas of some libraries are functions, too. */
const isCallerFunction = (input: Schema | InputSchemaOf | undefined): input is InputSchemaOf =>
  typeof input === 'function' && !isStandard(input)

/** Returns a function that compiles each schema once. It throws Error for a schema that tools cannot have. */
function inputPerCaller(
  name: string,
  schemaOf: InputSchemaOf,
  read: (schema: Schema) => Validator,
): NonNullable<Tool['inputOf']> {
  const compiled = new WeakMap<Schema, CallerInput>()
  return async (caller) => {
    const schema = await schemaOf(caller)
    const known = compiled.get(schema)
    if (known) return known
    const input = read(schema)
    checkInputSchema(name, input.jsonSchema)
    const made: CallerInput = { input, mirrored: headerParameters(input.jsonSchema) }
    compiled.set(schema, made)
    return made
  }
}

/** Reads the schemas of a tool, and builds its entry. @throws Error for an invalid schema. The message names the fix */
export function defineTool(
  name: string,
  definition:
    | ToolDefinition<Schema | undefined, Schema | undefined>
    | ToolDefinitionByCaller<Schema, Schema | undefined>,
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
  const isPerCaller = isCallerFunction(input)
  const readInput = (schema: Schema) => readSchema(schema, 'input', `inputSchema of tool "${name}"`, reader)
  const inputValidator = input && !isPerCaller ? readInput(input) : noInput
  const outputValidator = outputSchema && readSchema(outputSchema, 'output', `outputSchema of tool "${name}"`, reader)
  const inputSchema = isPerCaller ? anyInput : inputValidator.jsonSchema
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
    inputOf: isPerCaller ? inputPerCaller(name, input, readInput) : undefined,
    visibleTo,
    singleUse,
    task,
    handler,
  }
}
