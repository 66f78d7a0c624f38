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

export type PromptDefinition<A extends Schema | undefined> = AccessOptions & {
  title?: string
  description: string
  /** What the prompt takes: an object of texts. */
  argsSchema?: A
  /** Completes arguments. */
  complete?: Completions<PromptTexts<A>>
  icons?: Icon[]
  _meta?: Meta
}

export type PromptInput<A> = [A] extends [Schema] ? Infer<A> : Record<string, never>

/** What clients send: every argument is a text, whatever the schema makes of it. */
export type PromptTexts<A> = [A] extends [Schema] ? { [K in keyof InferInput<A>]: string } : Record<string, never>

type PromptPart = string | ContentBlock | PromptMessage

/** What a prompt may return: text or blocks that the user says, messages, or a full result. */
export type PromptReturn = PromptPart | readonly PromptPart[] | GetPromptResult

export type PromptHandler<A> = (args: PromptInput<A>, ctx: Context) => Awaitable<PromptReturn>

/** A registered prompt. */
export type Prompt = Guarded & {
  readonly item: PromptItem
  readonly args: Validator | undefined
  readonly complete: Completions<Record<string, string>>
  readonly handler: (args: unknown, ctx: Context) => unknown
}

/** A definition whose completers get the values of any arguments. */
export type AnyPromptDefinition = Omit<PromptDefinition<Schema | undefined>, 'complete'> &
  Partial<Pick<Prompt, 'complete'>>

/** @throws Error with one sentence that names the fix */
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
