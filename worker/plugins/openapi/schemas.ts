import { resolveFragment } from '../../protocol/json-pointer.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import type { Params } from '../../protocol/types.ts'
import { isVersion30, targetOf } from './references.ts'
import { asciiName } from './tool-names.ts'

/** Copies schemas of a document for one operation. All schemas that they refer to are in `definitions`, for `$defs` of the result. */
export class Schemas {
  readonly definitions: Record<string, unknown> = {}
  readonly #document: Params
  readonly #where: string
  /** Names of definitions, by the target of references: one reference may mean several schemas, and one schema may have several references. */
  readonly #names = new Map<unknown, string>()

  /** @param where for errors */
  constructor(document: Params, where: string) {
    this.#document = document
    this.#where = where
  }

  /** @throws Error for a reference without a target */
  copy(schema: unknown): unknown {
    return this.#copy(schema, [])
  }

  /** @param outer the enclosing schemas that references may mean, innermost first */
  #copy(schema: unknown, outer: readonly Params[]): unknown {
    if (Array.isArray(schema)) return schema.map((each) => this.#copy(each, outer))
    if (!isObject(schema)) return schema
    const own = hasId(schema) ? [schema] : isObject(schema.$defs) ? [schema, ...outer] : outer
    const $ref = typeof schema.$ref === 'string' ? `#/$defs/${this.#nameFor(schema.$ref, own)}` : undefined
    const isOld = isVersion30(this.#document)
    if ($ref && isOld) return { $ref }
    const members = Object.entries(schema).filter(([key]) => !left.has(key) && !key.startsWith('x-'))
    const copy = Object.fromEntries(
      members.map(([key, member]) => {
        if (literal.has(key)) return [key, member]
        return [key, named.has(key) && isObject(member) ? this.#copyEach(member, own) : this.#copy(member, own)]
      }),
    )
    const requested = withoutReadOnly($ref ? { ...copy, $ref } : copy)
    return isOld ? modern(requested) : requested
  }

  #copyEach(schemas: Params, outer: readonly Params[]): Params {
    return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, this.#copy(schema, outer)]))
  }

  #nameFor(reference: string, outer: readonly Params[]): string {
    const { target, around } = this.#targetOf(reference, outer)
    const known = this.#names.get(target)
    if (known) return known
    const last = asciiName(reference.split('/').at(-1)) || 'schema'
    let name = last
    for (let count = 2; Object.hasOwn(this.definitions, name); count += 1) name = `${last}_${count}`
    this.#names.set(target, name)
    this.definitions[name] = {}
    this.definitions[name] = this.#copy(target, around)
    return name
  }

  /**
   * Resolves a reference: in the document or, inside a schema with an `$id`, in that schema or one around it.
   *
   * @returns also the schemas around the target
   */
  #targetOf(reference: string, outer: readonly Params[]): { target: unknown; around: readonly Params[] } {
    const resource = outer.find(hasId)
    for (const root of [...(resource ? [resource] : []), this.#document, ...outer]) {
      const target = resolveFragment(root, reference)
      if (target !== undefined) return { target, around: root === this.#document ? [] : outer }
    }
    return { target: targetOf(reference, this.#document, this.#where), around: [] }
  }
}

const hasId = ({ $id }: Params): boolean => typeof $id === 'string'

/** Members that only OpenAPI has, and those for references, which are all replaced. */
const left = new Set([
  'discriminator',
  'xml',
  'externalDocs',
  'example',
  '$id',
  '$schema',
  '$defs',
  'definitions',
  '$ref',
])
/** Members whose values are schemas by name. */
const named = new Set(['properties', 'patternProperties', 'dependentSchemas'])
/** Members whose values are not schemas. */
const literal = new Set(['enum', 'const', 'default', 'examples', 'required', 'dependentRequired'])

/**
 * Returns an object schema without the properties that only responses have: `required` does not apply to them in requests.
 *
 * @see https://spec.openapis.org/oas/v3.0.4.html#schema-object
 */
function withoutReadOnly(schema: Params): Params {
  const { properties, required } = schema
  if (!isObject(properties)) return schema
  const isReadOnly = (name: string) => {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined
    return isObject(property) && property.readOnly === true
  }
  return {
    ...schema,
    properties: Object.fromEntries(Object.entries(properties).filter(([name]) => !isReadOnly(name))),
    ...(Array.isArray(required) && { required: required.filter((name) => !isReadOnly(String(name))) }),
  }
}

/** Converts keywords of OpenAPI 3.0 into those of JSON Schema. */
function modern({ nullable, exclusiveMinimum, exclusiveMaximum, ...schema }: Params): Params {
  const { minimum, maximum, ...others } = schema
  return {
    ...others,
    ...(nullable === true && typeof schema.type === 'string' && { type: [schema.type, 'null'] }),
    ...bounds('minimum', 'exclusiveMinimum', minimum, exclusiveMinimum),
    ...bounds('maximum', 'exclusiveMaximum', maximum, exclusiveMaximum),
  }
}

function bounds(name: string, exclusive: string, bound: unknown, isExclusive: unknown): Params {
  if (bound === undefined) return {}
  return { [isExclusive === true ? exclusive : name]: bound }
}
