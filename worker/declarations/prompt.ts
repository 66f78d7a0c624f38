/** Prompts: their definition, and the registered entry. */
import { isObject } from '../protocol/jsonrpc.ts'
import type {
  ContentBlock,
  GetPromptResult,
  Icon,
  JsonSchema,
  Meta,
  PromptArgument,
  PromptItem,
  PromptMessage,
} from '../protocol/types.ts'
import type { AccessOptions, Guarded } from './caller.ts'
import type { Awaitable, Context } from './context.ts'
import type { Completions } from './resource.ts'
import {
  type Infer,
  type InferInput,
  type JsonSchemaReader,
  readSchema,
  type Schema,
  type Validator,
} from './schema.ts'

/**
 * Defines a prompt.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/prompts#prompt
 */
export type PromptDefinition<A extends Schema | undefined> = AccessOptions & {
  /** Name for users. Default: none. */
  title?: string
  /** Explains to users what the prompt is for. Default: none. */
  description?: string
  /** The schema of the arguments: an object of texts. Default: the prompt has no arguments. */
  argsSchema?: A
  /** Completes arguments while the user types, by argument. Default: none. */
  complete?: Completions<PromptTexts<A>>
  /** Icons for users. Default: none. */
  icons?: readonly Icon[]
  /** Metadata for clients, sent unchanged. Default: none. */
  _meta?: Meta
}

/** Computes the type of the validated arguments of a prompt. */
export type PromptInput<A> = [A] extends [Schema] ? Infer<A> : Record<string, never>

/** The arguments as clients send them: texts, before validation. */
export type PromptTexts<A> = [A] extends [Schema] ? { [K in keyof InferInput<A>]: string } : Record<string, never>

type PromptPart = string | ContentBlock | PromptMessage

/** Accepts what a prompt handler may return: text or content blocks with the role `user`, messages, or a full result. */
export type PromptReturn = PromptPart | readonly PromptPart[] | GetPromptResult

/** Runs a prompt. Gets the validated arguments, and returns text, content blocks, messages or a full result. */
export type PromptHandler<A> = (args: PromptInput<A>, ctx: Context) => Awaitable<PromptReturn>

/** A registered prompt. */
export type Prompt = Guarded & {
  readonly item: PromptItem
  readonly args: Validator | undefined
  readonly complete: Completions<Record<string, string>>
  readonly handler: (args: unknown, ctx: Context) => unknown
}

/** A definition whose completers accept the values of any arguments. */
export type AnyPromptDefinition = Omit<PromptDefinition<Schema | undefined>, 'complete'> &
  Partial<Pick<Prompt, 'complete'>>

/** Reads the schema of a prompt, and builds its entry. @throws Error for an invalid schema. The message names the fix */
export function definePrompt(
  name: string,
  definition: AnyPromptDefinition,
  handler: Prompt['handler'],
  reader?: JsonSchemaReader,
): Prompt {
  const { argsSchema, complete = {}, visibleTo, title, description, icons, _meta } = definition
  const validator = argsSchema && readSchema(argsSchema, 'input', `argsSchema of prompt "${name}"`, reader)
  const list = validator && promptArguments(validator.jsonSchema)
  return {
    item: JSON.parse(JSON.stringify({ name, title, description, arguments: list, icons, _meta })),
    args: validator,
    visibleTo,
    complete,
    handler,
  }
}

function promptArguments(schema: JsonSchema): PromptArgument[] {
  const required = Array.isArray(schema.required) ? schema.required : []
  return Object.entries(isObject(schema.properties) ? schema.properties : {}).map(([argument, property]) => {
    const { title, description } = property as { title?: string; description?: string } // they are texts in JSON Schema
    return { name: argument, title, description, required: required.includes(argument) }
  })
}
