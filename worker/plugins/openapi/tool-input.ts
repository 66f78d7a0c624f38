/** The arguments of a tool, from the parameters and the body of an operation. */
import { resolveFragment } from '../../protocol/json-pointer.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import type { JsonSchema, Params } from '../../protocol/types.ts'
import { namesInPath } from './lost-arguments.ts'
import { canHaveBody, type OperationParameter } from './operation-type.ts'
import { followed, isVersion30 } from './references.ts'
import { isHeaderName, isReservedHeader } from './reserved-headers.ts'
import { Schemas } from './schemas.ts'
import { asciiName } from './tool-names.ts'

/** An operation, where a document describes it. */
export type OperationSource = {
  readonly document: Params
  readonly path: string
  /** In lower case. */
  readonly method: string
  /** For errors and sentences: `GET /pets`. */
  readonly where: string
  /** Called with a sentence for what the tool does not have, or why there is no tool. */
  readonly onSkipped: (sentence: string) => void
}

/** A JSON body. `type`: its media type in lower case, without parameters. */
type Body = { readonly schema: unknown; readonly type: string; readonly isRequired: boolean }

const places = ['path', 'query', 'querystring', 'header'] as const
const isPlace = (value: unknown): value is OperationParameter['in'] => places.some((place) => place === value)

/** OpenAPI gives them no meaning as parameters. */
const ignoredHeaders = new Set(['accept', 'content-type', 'authorization'])

export class ToolInput {
  /** By the name of the argument. */
  readonly parameters: Record<string, OperationParameter> = {}
  readonly #source: OperationSource
  readonly #schemas: Schemas
  readonly #properties: Record<string, unknown> = {}
  readonly #required: string[] = []

  constructor(source: OperationSource) {
    this.#source = source
    this.#schemas = new Schemas(source)
  }

  /**
   * Adds an argument for each parameter, or reports that it is left out. A later one replaces an earlier one for the same place.
   *
   * @returns false: a parameter is required and not supported, so the operation cannot be called
   */
  addParameters(values: readonly unknown[]): boolean {
    const { document, where } = this.#source
    const described = ({ description }: Params): Params =>
      isVersion30(document) || description === undefined ? {} : { description }
    const parameters = values.map((value) => followed(value, document, where, described))
    const byPlace = new Map(parameters.map((parameter) => [placeOf(parameter), parameter]))
    return [...byPlace.values()].every((parameter) => this.#addParameter(parameter))
  }

  #addParameter(parameter: Params): boolean {
    const { document, path, where, onSkipped } = this.#source
    const { in: place, name } = parameter
    if (place === 'cookie') onSkipped(`${where} without its parameter "${name}": it is a cookie`)
    else if (!isPlace(place)) onSkipped(`${where} without its parameter "${name}": its place "${place}" is unknown`)
    if (typeof name !== 'string' || !isPlace(place)) return true
    if (place === 'header' && !isHeaderName(name)) {
      onSkipped(`${where} without its parameter "${name}": no header can have that name`)
      return true
    }
    if (place === 'header' && isReservedHeader(name)) {
      const isIgnored = ignoredHeaders.has(name.toLowerCase())
      if (!isIgnored) onSkipped(`${where} without its parameter "${name}": only the server may set that header`)
      return true
    }
    if (place === 'path' && !namesInPath(path).includes(name)) {
      onSkipped(`${where} without its parameter "${name}": its path has no {${name}}`)
      return true
    }
    const isRequired = place === 'path' || parameter.required === true
    const separator = separatorOf(parameter, document, where)
    if (separator === 'unsupported') {
      if (isRequired)
        onSkipped(`${where}, whose required parameter "${name}" is serialized in a way that is not supported`)
      else onSkipped(`${where} without its parameter "${name}": it is serialized in a way that is not supported`)
      return !isRequired
    }
    const argument = freeArgument(place, name, this.#properties)
    this.parameters[argument] = { in: place, name, ...(separator && { separator }) }
    const schema = schemaOf(parameter)
    const text = textFor(argument, parameter)
    this.#properties[argument] = {
      ...(isObject(schema) ? (this.#schemas.copy(schema) as Params) : {}), // a copy of an object is one
      ...(text !== undefined && { description: text }),
    }
    if (isRequired) this.#required.push(argument)
    return true
  }

  /** Returns a variable of the path that no parameter declares. */
  findUndeclared(): string | undefined {
    const declared = Object.values(this.parameters).filter((parameter) => parameter.in === 'path')
    return namesInPath(this.#source.path).find((name) => !declared.some((parameter) => parameter.name === name))
  }

  addBody({ schema, isRequired }: Body): void {
    this.#properties.body = isObject(schema) ? this.#schemas.copy(schema) : {}
    if (isRequired) this.#required.push('body')
  }

  get schema(): JsonSchema {
    const { definitions } = this.#schemas
    return {
      type: 'object',
      properties: this.#properties,
      required: this.#required,
      additionalProperties: false,
      ...(Object.keys(definitions).length > 0 && { $defs: definitions }),
    }
  }
}

/**
 * The JSON body of an operation; `undefined` for one that has none, which may be reported.
 *
 * @returns `'unsupported'`, reported too, when the operation cannot be called without a body that is not supported
 */
export function bodyOf(
  { document, method, where, onSkipped }: OperationSource,
  requestBody: unknown,
): Body | 'unsupported' | undefined {
  const body = isObject(requestBody) ? followed(requestBody, document, where) : undefined
  const content = body && isObject(body.content) ? body.content : undefined
  if (!content) return undefined
  const isRequired = body?.required === true
  const without = isRequired ? 'unsupported' : undefined
  const [type = '', json] = Object.entries(content).find(([type]) => jsonType.test(type)) ?? []
  if (!json) {
    const types = Object.keys(content).join(', ')
    if (isRequired) onSkipped(`${where}, whose body is not JSON but ${types}`)
    else onSkipped(`${where} without its body, which is not JSON but ${types}`)
    return without
  }
  if (!isObject(json)) return undefined
  if (!canHaveBody(method)) {
    if (isRequired) onSkipped(`${where}, because a request of this method cannot have a body`)
    else onSkipped(`${where} without its body, because a request of this method cannot have one`)
    return without
  }
  // Parameters such as a charset mean nothing for JSON.
  return { schema: json.schema, type: type.replace(/\s*;.*$/, '').toLowerCase(), isRequired }
}

/**
 * The separator of the entries of a list in a query, if they are one parameter.
 *
 * @see https://spec.openapis.org/oas/v3.1.1.html#style-values
 */
function separatorOf(parameter: Params, document: Params, where: string): ',' | ' ' | '|' | 'unsupported' | undefined {
  const { in: place, content } = parameter
  const value = schemaOf(parameter)
  const isObjects = mayBe('object', value, document)
  if (place === 'querystring') return isObjects ? undefined : 'unsupported'
  const byDefault = place === 'query' ? 'form' : 'simple'
  const { style = byDefault, explode = style === 'form' } = parameter
  if (isObject(value)) followed(value, document, where)
  if (content !== undefined || isObjects) return 'unsupported'
  const isList = mayBe('array', value, document)
  if (style === byDefault) return place === 'query' && explode === false && isList ? ',' : undefined
  if (place !== 'query' || !isList) return 'unsupported'
  if (style === 'spaceDelimited') return explode ? undefined : ' '
  if (style === 'pipeDelimited') return explode ? undefined : '|'
  return 'unsupported'
}

/**
 * The schema of a parameter. That of a query string is in its form, as far as the members of the form have no styles of their own.
 *
 * @see https://spec.openapis.org/oas/v3.2.0.html#fixed-fields-for-use-with-content
 */
function schemaOf({ in: place, schema, content }: Params): unknown {
  if (place !== 'querystring') return schema
  const form = isObject(content) ? content['application/x-www-form-urlencoded'] : undefined
  return isObject(form) && !form.encoding ? form.schema : undefined
}

/** Keywords that a schema without `type` has for one type only. */
const keywordsOf = {
  array: ['items', 'prefixItems'],
  object: ['properties', 'additionalProperties', 'patternProperties'],
} as const

/** Whether a schema is for lists, or for objects, at least among others. */
function mayBe(type: 'array' | 'object', schema: unknown, document: Params, seen = new Set<unknown>()): boolean {
  if (!isObject(schema) || seen.has(schema)) return false
  seen.add(schema)
  const { $ref, type: types, allOf, anyOf, oneOf } = schema
  if (typeof $ref === 'string') {
    const target = resolveFragment(schema, $ref) ?? resolveFragment(document, $ref)
    if (mayBe(type, target, document, seen)) return true
    if (isVersion30(document)) return false
  }
  if (types === undefined ? keywordsOf[type].some((key) => Object.hasOwn(schema, key)) : [types].flat().includes(type))
    return true
  return [allOf, anyOf, oneOf].flat().some((each) => mayBe(type, each, document, seen))
}

/** The names of arguments that the APIs of models accept. */
const argumentName = /^[\w.-]{1,64}$/
const maxCharacters = 64

/** A name for an argument: its own, as far as models can use it, or with its place, or with a number as well. `body` is for the body. */
function freeArgument(place: string, own: string, taken: Readonly<Record<string, unknown>>): string {
  const isTaken = (name: string) => Object.hasOwn(taken, name) || name === 'body' || name === '__proto__'
  const base = argumentName.test(own) ? own : asciiName(own).slice(0, maxCharacters) || 'parameter'
  const numbered = (count: number) => {
    const suffix = count === 1 ? '' : `_${count}`
    return `${place}_${base}`.slice(0, maxCharacters - suffix.length) + suffix
  }
  let name = base
  for (let count = 1; isTaken(name); count += 1) name = numbered(count)
  return name
}

/** Returns the description of an argument, with the name of its parameter if that is another one. */
function textFor(argument: string, { name, description }: Params): string | undefined {
  const text = typeof description === 'string' ? description : undefined
  if (argument.endsWith(String(name))) return text
  return text ? `${text} (the parameter "${name}" of the API)` : `The parameter "${name}" of the API`
}

/** Returns one text for parameters of the same place. Names of headers ignore case. */
const placeOf = ({ in: place, name }: Params): string =>
  `${place} ${place === 'header' ? String(name).toLowerCase() : name}`

const jsonType = /^application\/(?:[\w.-]+\+)?json(?![\w.+-])/i
