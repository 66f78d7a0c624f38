/**
 * Schemas as developers bring them: any Standard Schema that can tell its JSON Schema (zod 4, valibot through
 * `@valibot/to-json-schema`, arktype), or a plain JSON Schema. Both become one thing: a JSON Schema to publish and a
 * check to run.
 *
 * @see https://standardschema.dev
 * @see https://json-schema.org/draft/2020-12
 */

import { isObject } from '../protocol/jsonrpc.ts'
import type { JsonSchema } from '../protocol/types.ts'

/** Standard Schema v1 with Standard JSON Schema v1, as far as it is used here. */
export interface StandardSchema<In = unknown, Out = In> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly types?: { readonly input: In; readonly output: Out } | undefined
    readonly validate: (value: unknown) => StandardResult<Out> | Promise<StandardResult<Out>>
    readonly jsonSchema?: {
      readonly input: (options: { target: 'draft-2020-12' }) => Record<string, unknown>
      readonly output: (options: { target: 'draft-2020-12' }) => Record<string, unknown>
    }
  }
}

type StandardResult<Out> =
  | { readonly value: Out; readonly issues?: undefined }
  | {
      readonly issues: readonly {
        readonly message: string
        readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
      }[]
    }

/** Anything a developer may hand over as a schema. */
// biome-ignore lint/suspicious/noExplicitAny: a schema of any input and output; unknown would refuse most of them
export type Schema = StandardSchema<any, any> | JsonSchema

/** What a checked value is: the schema's output. */
export type Infer<S> = S extends StandardSchema<infer _In, infer Out> ? Out : FromJsonSchema<S>

/** What may be handed to the check: the schema's input. */
export type InferInput<S> = S extends StandardSchema<infer In, infer _Out> ? In : FromJsonSchema<S>

/** The type that a literal JSON Schema describes. */
export type FromJsonSchema<S> = S extends { readonly const: infer C }
  ? C
  : S extends { readonly enum: readonly (infer E)[] }
    ? E
    : S extends { readonly anyOf: readonly (infer A)[] }
      ? FromJsonSchema<A>
      : S extends { readonly oneOf: readonly (infer A)[] }
        ? FromJsonSchema<A>
        : S extends { readonly type: readonly (infer T)[] }
          ? T extends string
            ? FromJsonSchema<Omit<S, 'type'> & { readonly type: T }>
            : unknown
          : FromType<S>

type FromType<S> = S extends { readonly type: 'string' }
  ? string
  : S extends { readonly type: 'number' | 'integer' }
    ? number
    : S extends { readonly type: 'boolean' }
      ? boolean
      : S extends { readonly type: 'null' }
        ? null
        : S extends { readonly type: 'array' }
          ? S extends { readonly items: infer I }
            ? FromJsonSchema<I>[]
            : unknown[]
          : S extends { readonly type: 'object'; readonly properties: infer P }
            ? Flat<
                { -readonly [K in keyof P as K extends RequiredNames<S> ? K : never]: FromJsonSchema<P[K]> } & {
                  -readonly [K in keyof P as K extends RequiredNames<S> ? never : K]?: FromJsonSchema<P[K]>
                }
              >
            : S extends { readonly type: 'object'; readonly additionalProperties: infer A extends object }
              ? Record<string, FromJsonSchema<A>>
              : S extends { readonly type: 'object' }
                ? Record<string, unknown>
                : unknown

type RequiredNames<S> = S extends { readonly required: readonly (infer R)[] } ? R : never
type Flat<T> = { [K in keyof T]: T[K] } & {}

/** What is wrong, and where: names and indexes with dots between them, nothing for the value itself. */
export type Issue = { path: string; message: string }
export type Issues = readonly Issue[]

/** More issues than these do not help, and a client decides how many there are. */
export const mostIssues = 20
/** Characters of one issue: its path can hold what a client wrote, and its message, too. */
const longestIssue = 500

/** Issues as one text that a model can act on: the first 20, each cut after 500 characters. */
export function issuesText(issues: Issues): string {
  const texts = issues.slice(0, mostIssues).map(({ path, message }) => (path ? `${path}: ${message}` : message))
  return texts.map(cut).join('; ')
}

const cut = (text: string): string => (text.length > longestIssue ? `${text.slice(0, longestIssue)}…` : text)

/**
 * Reads a plain JSON Schema into a check: what is wrong with a value, which is nothing when it fits.
 *
 * @param owner who has the schema, for errors: `input of tool "greet"`
 */
export type JsonSchemaReader = (schema: JsonSchema, owner: string) => (value: unknown) => Issues

export type Checked<T = unknown> = { value: T } | { issues: Issues }

/** A schema ready for use. */
export interface Validator<T = unknown> {
  readonly jsonSchema: JsonSchema
  check(value: unknown): Checked<T> | Promise<Checked<T>>
}

/**
 * Makes a schema ready for use.
 *
 * @param side whether the published schema describes what goes into the check or what comes out of it
 * @param owner who has the schema, for the error: `input of tool "greet"`
 * @param reader of plain JSON Schemas, if the server has one
 * @throws Error with one sentence that names the fix
 */
export function readSchema(
  schema: Schema,
  side: 'input' | 'output',
  owner: string,
  reader?: JsonSchemaReader,
): Validator {
  refuseRawShape(schema, owner)
  validateSchema(schema, side, owner, reader)
  // Anything but a Standard Schema is a JSON Schema: validateSchema has refused the rest.
  return isStandard(schema) ? readStandard(schema, side) : readJsonSchema(schema as JsonSchema, owner, reader)
}

/** The SDK takes the members of an object schema without the object. @throws Error that names the fix */
function refuseRawShape(schema: Schema, owner: string): void {
  if (typeof schema !== 'object' || schema === null || isStandard(schema)) return
  const [name, member] = Object.entries(schema)[0] ?? []
  if (!isObject(member) || !isStandard(member)) return
  throw new Error(`The ${owner} is an object of schemas: wrap it, as in z.object({ ${name}: … })`)
}

export const isStandard = (schema: unknown): schema is StandardSchema =>
  // A value of any type can be asked for the member, null and undefined with `?.`.
  (schema as Partial<StandardSchema> | null | undefined)?.['~standard'] !== undefined

function readStandard(schema: StandardSchema, side: 'input' | 'output'): Validator {
  const standard = schema['~standard']
  // validateSchema has refused a schema without it.
  const describe = (standard.jsonSchema as NonNullable<typeof standard.jsonSchema>)[side]
  return {
    jsonSchema: describe({ target: 'draft-2020-12' }),
    async check(value) {
      const result = await validate(standard, value)
      if (!result.issues) return { value: result.value }
      return {
        issues: result.issues.slice(0, mostIssues).map(({ message, path }) => ({
          path: (path ?? []).map((key) => String(typeof key === 'object' ? key.key : key)).join('.'),
          message,
        })),
      }
    },
  }
}

/** Validates with a library. Some run out of stack while they gather the issues of a large value: that is an issue, too. */
async function validate(standard: StandardSchema['~standard'], value: unknown) {
  try {
    return await standard.validate(value)
  } catch (thrown) {
    if (!(thrown instanceof RangeError)) throw thrown
    return {
      issues: [
        { message: `The value has too many issues, or is too deep, to be checked: ${thrown.message}`, path: [] },
      ],
    }
  }
}

/** @throws Error for what is no schema, or cannot be read here */
function validateSchema(
  schema: Schema,
  side: 'input' | 'output',
  owner: string,
  reader: JsonSchemaReader | undefined,
): void {
  const standard = isStandard(schema) ? schema['~standard'] : undefined
  if (!standard) {
    if (!isObject(schema)) throw new Error(`The ${owner} must be a Standard Schema or a JSON Schema object`)
    if (reader) return
    throw new Error(
      `The ${owner} is a plain JSON Schema: give createServer the checker for them, ` +
        'createServer({ …, jsonSchema }) with jsonSchema of "edgemcp/json-schema"',
    )
  }
  if (!standard.jsonSchema) {
    throw new Error(
      `The ${owner} cannot tell its JSON Schema: use zod 4.2 or newer, arktype, ` +
        'or wrap a valibot schema in toStandardJsonSchema() of @valibot/to-json-schema',
    )
  }
  try {
    standard.jsonSchema[side]({ target: 'draft-2020-12' })
  } catch (cause) {
    throw new Error(`The ${owner} has no JSON Schema form: ${cause instanceof Error ? cause.message : cause}`, {
      cause,
    })
  }
}

function readJsonSchema(schema: JsonSchema, owner: string, reader: JsonSchemaReader | undefined): Validator {
  const issuesOf = (reader as JsonSchemaReader)(schema, owner) // validateSchema has refused a server without one
  return {
    jsonSchema: schema,
    check(value) {
      const issues = issuesOf(value)
      return issues.length === 0 ? { value } : { issues }
    },
  }
}
