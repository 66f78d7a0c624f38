/**
 * Schemas from developers: a Standard Schema with a JSON Schema form (zod 4, valibot through `@valibot/to-json-schema`, arktype), or a
 * plain JSON Schema. Each becomes a `Validator`: a JSON Schema to publish, and a check to run.
 *
 * @see https://standardschema.dev
 * @see https://json-schema.org/draft/2020-12
 */

import { messageOf } from '../protocol/errors.ts'
import { jsonText } from '../protocol/json-text.ts'
import { isObject } from '../protocol/jsonrpc.ts'
import type { JsonSchema } from '../protocol/types.ts'

/**
 * Describes the parts of Standard Schema v1 and Standard JSON Schema v1 that this library uses.
 *
 * @see https://standardschema.dev
 */
export interface StandardSchema<In = unknown, Out = In> {
  /** The interface of Standard Schema: `validate`, and `jsonSchema` for the published form. */
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

/** Accepts a Standard Schema with a JSON Schema form (zod, valibot, arktype), or a plain JSON Schema. */
// biome-ignore lint/suspicious/noExplicitAny: a schema of any input and output; unknown would refuse most of them
export type Schema = StandardSchema<any, any> | JsonSchema

/** Computes the type of a validated value: the output of the schema. */
export type Infer<S> = S extends StandardSchema<infer _In, infer Out> ? Out : FromJsonSchema<S>

/** Computes the type of a value before validation: the input of the schema. */
export type InferInput<S> = S extends StandardSchema<infer In, infer _Out> ? In : FromJsonSchema<S>

/** Computes the type that a literal JSON Schema describes. */
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

/** A problem of a value. `path` has names and indexes with dots between them, and is empty for the value itself. */
export type Issue = { path: string; message: string }
export type Issues = readonly Issue[]

/** Issues that are reported. A client decides how many there are, and more do not help. */
export const mostIssues = 20
/** Characters of one issue. Its path and its message can contain text of the client. */
const longestIssue = 500

/** Formats issues as one text for a model: the first 20, each cut after 500 characters. */
export function issuesText(issues: Issues): string {
  const texts = issues.slice(0, mostIssues).map(({ path, message }) => (path ? `${path}: ${message}` : message))
  return texts.map(cut).join('; ')
}

/** Cuts the text of an issue, and each name in its path: the paths of all issues would repeat a long text of the client. */
export const cut = (text: string): string =>
  text.length > longestIssue ? `${text.slice(0, longestIssue).toWellFormed()}…` : text

/**
 * Compiles a plain JSON Schema into a function that returns the issues of a value, none if the value is valid.
 *
 * @param owner the owner of the schema, for errors: `inputSchema of tool "greet"`
 */
export type JsonSchemaReader = (schema: JsonSchema, owner: string) => (value: unknown) => Issues

/** The validated value, or its issues. */
export type Checked<T = unknown> = { value: T } | { issues: Issues }

/** A compiled schema: what is published, and the check. */
export interface Validator<T = unknown> {
  readonly jsonSchema: JsonSchema
  check(value: unknown): Checked<T> | Promise<Checked<T>>
}

/**
 * Compiles a schema.
 *
 * @param side whether the published schema describes values before or after validation
 * @param owner the owner of the schema, for errors: `inputSchema of tool "greet"`
 * @param reader compiles plain JSON Schemas, if the server has a reader
 * @throws Error for an invalid schema. The message names the fix
 */
export function readSchema(
  schema: Schema,
  side: 'input' | 'output',
  owner: string,
  reader?: JsonSchemaReader,
): Validator {
  if (isStandard(schema)) return readStandard(schema, side, owner)
  if (!isObject(schema)) throw new Error(`The ${owner} must be a Standard Schema or a JSON Schema object`)
  const [name, member] = Object.entries(schema)[0] ?? []
  // The official SDK accepts the members of an object schema.
  if (isStandard(member)) {
    throw new Error(`The ${owner} is an object of schemas: wrap it, as in z.object({ ${name}: … })`)
  }
  if (reader) return readJsonSchema(schema, owner, reader)
  throw new Error(
    `The ${owner} is a plain JSON Schema: write createServer({ …, jsonSchema }), with jsonSchema of "edgemcp/json-schema"`,
  )
}

export const isStandard = (schema: unknown): schema is StandardSchema =>
  // Any value can be read for the member, `null` and `undefined` with `?.`.
  (schema as Partial<StandardSchema> | null | undefined)?.['~standard'] !== undefined

function readStandard(schema: StandardSchema, side: 'input' | 'output', owner: string): Validator {
  const standard = schema['~standard']
  return {
    jsonSchema: jsonSchemaOf(schema, side, owner),
    async check(value) {
      const result = await validate(standard, value)
      if (!result.issues) return { value: result.value }
      return {
        issues: result.issues.slice(0, mostIssues).map(({ message, path }) => ({
          path: (path ?? []).map((key) => cut(String(typeof key === 'object' ? key.key : key))).join('.'),
          message,
        })),
      }
    },
  }
}

/**
 * Validates with a library. Some libraries run out of stack while they collect the issues of a large value; that counts as an issue.
 *
 * @throws what else the schema throws, such as a RangeError of its own
 */
async function validate(standard: StandardSchema['~standard'], value: unknown) {
  try {
    return await standard.validate(value)
  } catch (thrown) {
    if (!isStackOverflow(thrown)) throw thrown
    return { issues: [{ message: 'The value has too many issues or is too deep to validate', path: [] }] }
  }
}

/** The message is that of V8. Anything else is an error of the schema, whose text clients may not be allowed to read. */
const isStackOverflow = (thrown: unknown): boolean =>
  thrown instanceof RangeError && /^Maximum call stack/.test(thrown.message)

/** @throws Error for a schema without a JSON Schema form, which names the member at fault in an object schema of zod */
function jsonSchemaOf(schema: StandardSchema, side: 'input' | 'output', owner: string): JsonSchema {
  const { jsonSchema } = schema['~standard']
  if (!jsonSchema) {
    throw new Error(
      `The ${owner} cannot be converted to JSON Schema: use zod 4.2 or newer, arktype, ` +
        'or toStandardJsonSchema() of @valibot/to-json-schema',
    )
  }
  try {
    return jsonSchema[side]({ target: 'draft-2020-12' })
  } catch (cause) {
    const { shape = {} } = schema as { readonly shape?: Readonly<Record<string, StandardSchema>> } // of zod
    for (const [name, member] of Object.entries(shape)) jsonSchemaOf(member, side, `"${name}" of the ${owner}`)
    throw new Error(
      `The ${owner} has no JSON Schema form: ${messageOf(cause)}. Use what JSON has, such as z.iso.datetime()`,
      { cause },
    )
  }
}

function readJsonSchema(schema: JsonSchema, owner: string, reader: JsonSchemaReader): Validator {
  // A promise, or a default that JSON would change, is no part of a JSON Schema.
  jsonText(schema, `The ${owner} has`, Error)
  const issuesOf = reader(schema, owner)
  return {
    jsonSchema: schema,
    check(value) {
      const issues = issuesOf(value)
      return issues.length === 0 ? { value } : { issues }
    },
  }
}
