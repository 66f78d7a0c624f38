/**
 * Schemas as developers bring them: any Standard Schema that can tell its JSON Schema (zod 4, valibot through
 * `@valibot/to-json-schema`, arktype), or a plain JSON Schema. Both become one thing: a JSON Schema to publish and a
 * check to run.
 *
 * @see https://standardschema.dev
 * @see https://json-schema.org/draft/2020-12
 */
import { Validator as JsonSchemaValidator, type SchemaDraft } from '@cfworker/json-schema'
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
            : S extends { readonly type: 'object' }
              ? Record<string, unknown>
              : unknown

type RequiredNames<S> = S extends { readonly required: readonly (infer R)[] } ? R : never
type Flat<T> = { [K in keyof T]: T[K] } & {}

export type Issue = { path: string; message: string }
export type Checked<T = unknown> = { value: T } | { issues: Issue[] }

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
 * @throws Error with one sentence that names the fix
 */
export function readSchema(schema: Schema, side: 'input' | 'output', owner: string): Validator {
  return isStandard(schema) ? readStandard(schema, side, owner) : readJsonSchema(schema as JsonSchema, owner)
}

export const isStandard = (schema: Schema): schema is StandardSchema =>
  (typeof schema === 'object' || typeof schema === 'function') && schema !== null && '~standard' in schema

function readStandard(schema: StandardSchema, side: 'input' | 'output', owner: string): Validator {
  const standard = schema['~standard']
  if (!standard.jsonSchema) {
    throw new Error(
      `The ${owner} cannot tell its JSON Schema: use zod 4.2 or newer, arktype, ` +
        'or wrap a valibot schema in toStandardJsonSchema() of @valibot/to-json-schema',
    )
  }
  let jsonSchema: JsonSchema
  try {
    jsonSchema = standard.jsonSchema[side]({ target: 'draft-2020-12' })
  } catch (cause) {
    throw new Error(`The ${owner} has no JSON Schema form: ${cause instanceof Error ? cause.message : cause}`, {
      cause,
    })
  }
  return {
    jsonSchema,
    async check(value) {
      const result = await standard.validate(value)
      if (!result.issues) return { value: result.value }
      return {
        issues: result.issues.map(({ message, path }) => ({
          path: (path ?? []).map((key) => String(typeof key === 'object' ? key.key : key)).join('.'),
          message,
        })),
      }
    },
  }
}

const drafts: Record<string, SchemaDraft> = {
  'https://json-schema.org/draft/2020-12/schema': '2020-12',
  'https://json-schema.org/draft/2019-09/schema': '2019-09',
  'http://json-schema.org/draft-07/schema': '7',
  'http://json-schema.org/draft-04/schema': '4',
}

function readJsonSchema(schema: JsonSchema, owner: string): Validator {
  if (!isObject(schema)) throw new Error(`The ${owner} must be a Standard Schema or a JSON Schema object`)
  const dialect = schema.$schema ?? 'https://json-schema.org/draft/2020-12/schema'
  const draft = drafts[String(dialect).replace(/#$/, '')]
  if (!draft) throw new Error(`The ${owner} uses the JSON Schema dialect ${dialect}: use 2020-12`)
  refuseForeignReferences(schema, owner)
  // Reading a schema is not free, and most tools of a server are not called in most isolates.
  let validator: JsonSchemaValidator | undefined
  return {
    jsonSchema: schema,
    check(value) {
      validator ??= new JsonSchemaValidator(schema as object, draft, false)
      const { valid, errors } = validator.validate(value)
      return valid ? { value } : { issues: errors.filter(isCause).map(issueOf) }
    },
  }
}

/** A `$ref` to somewhere else would have to be fetched, and an unresolved one would let everything pass. */
function refuseForeignReferences(schema: JsonSchema, owner: string): void {
  const known = new Set<unknown>()
  const references: string[] = []
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) node.forEach(visit)
    else if (isObject(node)) {
      if (typeof node.$id === 'string') known.add(node.$id)
      if (typeof node.$ref === 'string') references.push(node.$ref)
      Object.values(node).forEach(visit)
    }
  }
  visit(schema)
  const foreign = references.find((reference) => !reference.startsWith('#') && !known.has(reference.split('#')[0]))
  if (foreign) throw new Error(`The ${owner} refers to ${foreign}: put that schema under $defs and refer to it there`)
}

type OutputUnit = { keyword: string; instanceLocation: string; error: string }

/** Keywords that only report that something beneath them failed. */
const carriers = new Set([
  'properties',
  'items',
  'allOf',
  'anyOf',
  'oneOf',
  '$ref',
  'if',
  'then',
  'else',
  'prefixItems',
])
const isCause = (unit: OutputUnit, _: number, units: OutputUnit[]) =>
  !carriers.has(unit.keyword) || units.every((other) => carriers.has(other.keyword))

const issueOf = (unit: OutputUnit): Issue => ({
  path: unit.instanceLocation.replace(/^#\/?/, '').replaceAll('/', '.'),
  message: unit.error,
})

/** Issues as one text that a model can act on. */
export const issuesText = (issues: readonly Issue[]): string =>
  issues.map(({ path, message }) => (path ? `${path}: ${message}` : message)).join('; ')
