import { compilePattern, SlowPattern } from '../../declarations/json-schema/patterns.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import type { Params } from '../../protocol/types.ts'
import { isVersion30, resolveReference, targetOf } from './references.ts'
import { asciiName } from './tool-names.ts'

/** What the schemas of an operation are read from. */
export type SchemaSource = {
  readonly document: Params
  /** For errors and sentences: `GET /pets`. */
  readonly where: string
  /** Called with a sentence for what the tool does not have, or why there is no tool. */
  readonly onSkipped: (sentence: string) => void
}

/** Copies schemas of a document for one operation. All schemas that they refer to are in `definitions`, for `$defs` of the result. */
export class Schemas {
  readonly definitions: Record<string, unknown> = {}
  /** Whether the schemas are of a form with files. */
  hasFiles = false
  readonly #source: SchemaSource
  /**
   * Names of definitions, by the target of references and what they leave out: one reference may mean several schemas, and one schema may
   * have several references.
   */
  readonly #names = new Map<unknown, Map<string, string>>()

  readonly #readOnly = new Map<Params, ReadonlySet<string>>()
  readonly #alternatives = new Map<Params, ReadonlySet<unknown>>()

  constructor(source: SchemaSource) {
    this.#source = source
  }

  /** @throws Error for a reference without a target; RangeError for schemas that are too many, or nested too deeply */
  copy(schema: unknown): unknown {
    return this.#copy(schema, [], [])
  }

  /**
   * @param outer the enclosing schemas that references may mean, innermost first
   * @param hidden properties that other schemas for the same value declare as read-only; `undefined` in a condition: that requires one of them
   *   does not hold for any request
   * @param bases schemas whose alternatives are left out, because the schemas around `allOf` are among them
   */
  #copy(schema: unknown, outer: readonly Params[], hidden: Hidden, bases: ReadonlySet<Params> = noBases): unknown {
    if (Array.isArray(schema)) return schema.map((each) => this.#copy(each, outer, hidden, bases))
    if (!isObject(schema)) return schema
    const file = this.hasFiles ? this.#fileIn(schema, outer) : undefined
    if (file) return fileSchema(file)
    const own = schemasAround(schema, outer)
    const names = hidden && [...hidden, ...this.#readOnlyOf(schema, outer)]
    const extended = new Set([...bases, ...this.#basesOf(schema, outer)])
    const $ref =
      typeof schema.$ref === 'string' ? `#/$defs/${this.#nameFor(schema.$ref, own, names, extended)}` : undefined
    const isOld = isVersion30(this.#source.document)
    if ($ref && isOld) return { $ref }
    const members = Object.entries(bases.has(schema) ? withoutAlternatives(schema) : lenient(schema)).filter(
      ([key, member]) => !left.has(key) && !key.startsWith('x-') && !(key === 'pattern' && this.#isInvalid(member)),
    )
    const copy = Object.fromEntries(
      members.map(([key, member]) => {
        if (literal.has(key)) return [key, member]
        const inside = conditions.has(key) ? undefined : sameValue.includes(key) ? names : names && []
        if (named.has(key) && isObject(member)) return [key, this.#copyEach(member, own, inside)]
        return [key, this.#copy(member, own, inside, key === 'allOf' ? extended : noBases)]
      }),
    )
    const optional =
      names && members.some(([key]) => demanding.has(key)) ? this.#readOnlyIn(schema, outer, extended) : []
    const requested = without($ref ? { ...copy, $ref } : copy, new Set(names), new Set([...(names ?? []), ...optional]))
    return isOld ? modern(requested) : requested
  }

  /** Returns the members of a schema for files, with those of the schemas in its `allOf`. */
  #fileIn(schema: Params, outer: readonly Params[]): Params | undefined {
    const parts = schema.allOf ? [...this.#reachedFrom([[schema, outer]], ['allOf']).keys()] : [schema]
    const members = parts.some(isFile) && Object.assign({}, ...parts.reverse())
    return members && isVersion30(this.#source.document) ? modern(members) : members || undefined
  }

  #copyEach(schemas: Params, outer: readonly Params[], hidden: Hidden): Params {
    return Object.fromEntries(
      Object.entries(schemas).map(([name, schema]) => [name, this.#copy(schema, outer, hidden)]),
    )
  }

  /** Whether the server would refuse a pattern, which is reported. It would stop the whole Worker at startup. */
  #isInvalid(pattern: unknown): boolean {
    try {
      compilePattern(String(pattern))
      return false
    } catch (problem) {
      const { where, onSkipped } = this.#source
      if (problem instanceof SlowPattern)
        onSkipped(`${where} without the pattern "${pattern}", which may take long to match`)
      else onSkipped(`${where} without the pattern "${pattern}", which is no regular expression of JavaScript`)
      return true
    }
  }

  /** Returns the schemas that apply to the same value by its reference and other members, each with the schemas around it. */
  #partsOf(schema: Params, own: readonly Params[], members: readonly string[] = ['allOf']): Part[] {
    const applied = members.flatMap((key) =>
      named.has(key) ? Object.values(isObject(schema[key]) ? schema[key] : {}) : schema[key],
    )
    const parts = applied.map((each): Part => [each, own])
    if (typeof schema.$ref !== 'string') return parts
    const { target, around } = this.#targetOf(schema.$ref, own)
    return isVersion30(this.#source.document) ? [[target, around]] : [...parts, [target, around]]
  }

  /** Returns these schemas, and all that they lead to by references and other members, each with the schemas around it. */
  #reachedFrom(
    open: Part[],
    members: readonly string[],
    bases: ReadonlySet<Params> = noBases,
    reached = new Map<Params, readonly Params[]>(),
  ): Map<Params, readonly Params[]> {
    for (let part = open.pop(); part; part = open.pop()) {
      const [schema, outer] = part
      if (!isObject(schema) || reached.has(schema)) continue
      reached.set(schema, outer)
      const own = bases.has(schema) ? withoutAlternatives(schema) : schema
      open.push(...this.#partsOf(own, schemasAround(schema, outer), members))
    }
    return reached
  }

  /**
   * Returns the schemas that a schema extends and whose alternatives it is: for it, they are meant without them. Otherwise it would be
   * endless.
   *
   * @see https://spec.openapis.org/oas/v3.1.1.html#composition-and-inheritance-polymorphism
   */
  #basesOf(schema: Params, outer: readonly Params[]): ReadonlySet<Params> {
    const bases = new Set<Params>()
    for (const [base, around] of this.#reachedFrom([[schema, outer]], ['allOf'])) {
      if (base === schema || !(base.oneOf || base.anyOf)) continue
      if (this.#alternativesOf(base, around).has(schema)) bases.add(base)
    }
    return bases
  }

  #alternativesOf(base: Params, outer: readonly Params[]): ReadonlySet<unknown> {
    const known = this.#alternatives.get(base)
    if (known) return known
    const own = schemasAround(base, outer)
    const parts = [base.oneOf, base.anyOf].flat().map((each): Part => [each, own])
    const found = new Set(this.#reachedFrom(parts, ['oneOf', 'anyOf'], noBases, new Map([[base, outer]])).keys())
    this.#alternatives.set(base, found)
    return found
  }

  /** Returns the properties that only responses have. */
  #readOnlyOf(schema: unknown, outer: readonly Params[]): ReadonlySet<string> {
    if (!isObject(schema)) return new Set()
    const known = this.#readOnly.get(schema)
    if (known) return known
    const names = new Set<string>()
    this.#readOnly.set(schema, names)
    const own = schemasAround(schema, outer)
    for (const [name, property] of Object.entries(isObject(schema.properties) ? schema.properties : {})) {
      if (this.#isReadOnly(property, own)) names.add(name)
    }
    for (const [part, around] of this.#partsOf(schema, own)) {
      for (const name of this.#readOnlyOf(part, around)) names.add(name)
    }
    return names
  }

  /** Returns the properties that a schema, or one of those for the same value, declares as read-only. @param bases see `#copy` */
  #readOnlyIn(schema: Params, outer: readonly Params[], bases: ReadonlySet<Params>): string[] {
    const reached = this.#reachedFrom([[schema, outer]], sameValue, bases)
    return [...reached].flatMap(([part, around]) => [...this.#readOnlyOf(part, around)])
  }

  #isReadOnly(schema: unknown, outer: readonly Params[], depth = 0): boolean {
    if (!isObject(schema) || depth === maxDepth) return false
    if (schema.readOnly === true && !(schema.$ref && isVersion30(this.#source.document))) return true
    const parts = this.#partsOf(schema, schemasAround(schema, outer))
    return parts.some(([part, around]) => this.#isReadOnly(part, around, depth + 1))
  }

  #nameFor(reference: string, outer: readonly Params[], hidden: Hidden, extended: ReadonlySet<Params>): string {
    const { target, around } = this.#targetOf(reference, outer)
    const parts = this.#reachedFrom([[target, around]], ['allOf'])
    const own = isObject(target) ? this.#basesOf(target, around) : noBases
    const bases = new Set([...extended, ...own].filter((base) => parts.has(base)))
    const others = hidden && this.#namedIn(target, around, hidden, bases)
    const names = this.#names.get(target) ?? new Map<string, string>()
    this.#names.set(target, names)
    const places = [...this.#alternatives.keys()].flatMap((base, index) => (bases.has(base) ? index : []))
    const key = JSON.stringify([others ?? null, places])
    const known = names.get(key)
    if (known) return known
    const last = asciiName(reference.split('/').at(-1)) || 'schema'
    let name = last
    for (let count = 2; Object.hasOwn(this.definitions, name); count += 1) name = `${last}_${count}`
    names.set(key, name)
    if (Object.keys(this.definitions).length === maxDefinitions) throw new RangeError()
    this.definitions[name] = {}
    this.definitions[name] = this.#copy(target, around, others, bases)
    return name
  }

  /** Returns those of the properties that a schema names and does not declare as read-only. @param bases see `#copy` */
  #namedIn(schema: unknown, outer: readonly Params[], names: readonly string[], bases: ReadonlySet<Params>): string[] {
    const own = this.#readOnlyOf(schema, outer)
    const others = [...new Set(names)].filter((name) => !own.has(name)).sort()
    if (others.length === 0) return []
    const parts = [...this.#reachedFrom([[schema, outer]], sameValue, bases).keys()]
    return others.filter((name) => parts.some((part) => isNamedIn(part, name)))
  }

  /**
   * Resolves a reference: in the document or, inside a schema with an `$id`, in that schema or one around it.
   *
   * @returns also the schemas around the target
   */
  #targetOf(reference: string, outer: readonly Params[]): { target: unknown; around: readonly Params[] } {
    const resource = outer.find(hasId)
    for (const root of [...(resource ? [resource] : []), this.#source.document, ...outer]) {
      const target = resolveReference(root, reference)
      if (target !== undefined) return { target, around: root === this.#source.document ? [] : outer }
    }
    return { target: targetOf(reference, this.#source.document, this.#source.where), around: [] }
  }
}

/** Whether a schema is for the bytes of a file: `format: binary` of OpenAPI 3.0, `contentMediaType` of 3.1. */
export const isFile = ({ type, format, contentMediaType, contentEncoding }: Params): boolean =>
  (type === undefined || [type].flat().includes('string')) &&
  (format === 'binary' || (contentEncoding === undefined && !/json|^text\/|^undefined$/.test(String(contentMediaType))))

/** A file, as the argument of a tool has it. Values of other types remain. */
const fileSchema = ({ type, title, description }: Params): Params => ({
  type: Array.isArray(type) ? ['object', ...type.filter((each) => each !== 'string')] : 'object',
  ...(title !== undefined && { title }),
  ...(description !== undefined && { description }),
  properties: {
    data: { type: 'string', contentEncoding: 'base64' },
    filename: { type: 'string', examples: ['report.pdf'] },
    mimeType: { type: 'string', examples: ['application/pdf'] },
  },
  required: ['data'],
  additionalProperties: false,
})

/** The names of properties that are left out; `undefined` where none is. */
type Hidden = readonly string[] | undefined

/** A schema, and those around it. */
type Part = readonly [unknown, readonly Params[]]

const noBases: ReadonlySet<Params> = new Set()

const withoutAlternatives = ({ oneOf, anyOf, ...others }: Params): Params => others

/** Returns a schema whose alternatives may overlap, if a discriminator tells which one is meant. */
function lenient(schema: Params): Params {
  const { oneOf, ...others } = schema
  return oneOf && schema.discriminator && !schema.anyOf ? { ...others, anyOf: oneOf } : schema
}

/** Schemas that one operation refers to. Clients cannot use larger tools. */
export const maxDefinitions = 2000

/** References and `allOf` around `readOnly`. */
const maxDepth = 5

const hasId = ({ $id }: Params): boolean => typeof $id === 'string'

/** The schemas that references inside a schema may mean, innermost first. */
const schemasAround = (schema: Params, outer: readonly Params[]): readonly Params[] =>
  hasId(schema) ? [schema] : isObject(schema.$defs) ? [schema, ...outer] : outer

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
/** Members whose schemas apply to the same value, at least in some cases. */
const sameValue = ['allOf', 'anyOf', 'oneOf', 'then', 'else', 'dependentSchemas']
/** Members whose schemas say only when others apply. */
const conditions = new Set(['if', 'not'])
/** Members that require properties. */
const demanding = new Set(['required', 'dependentRequired'])
/** Members whose values are not schemas. */
const literal = new Set(['enum', 'const', 'default', 'examples', 'required', 'dependentRequired'])

/**
 * Returns a schema without properties that only responses have: `required` does not apply to them in requests.
 *
 * @param optional those that are not required, `names` included
 * @see https://spec.openapis.org/oas/v3.0.4.html#schema-object
 */
function without(schema: Params, names: ReadonlySet<unknown>, optional: ReadonlySet<unknown>): Params {
  if (optional.size === 0) return schema
  const { properties, required, dependentRequired } = schema
  const cut = (list: unknown) => (Array.isArray(list) ? list.filter((name) => !optional.has(name)) : list)
  return {
    ...schema,
    ...(isObject(properties) && {
      properties: Object.fromEntries(Object.entries(properties).filter(([name]) => !names.has(name))),
    }),
    ...('required' in schema && { required: cut(required) }),
    ...(isObject(dependentRequired) && {
      dependentRequired: Object.fromEntries(Object.entries(dependentRequired).map(([name, list]) => [name, cut(list)])),
    }),
  }
}

/** Whether a schema describes or requires a property. */
const isNamedIn = ({ properties, required, dependentRequired }: Params, name: string): boolean =>
  (isObject(properties) && Object.hasOwn(properties, name)) ||
  [required, ...Object.values(isObject(dependentRequired) ? dependentRequired : {})].flat().includes(name)

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
