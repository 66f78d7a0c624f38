/**
 * What an OpenAPI document says of its operations, as what tools need.
 *
 * @see https://spec.openapis.org/oas/v3.1.1.html
 */
import { isObject } from '../protocol/jsonrpc.ts'
import type { JsonSchema, Params } from '../protocol/types.ts'
import type { Operation } from './operation.ts'
import { isReservedHeader } from './reserved-headers.ts'

const methods = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options'] as const
/** OpenAPI gives them no meaning as parameters. */
const ignoredHeaders = new Set(['accept', 'content-type', 'authorization'])

export type OperationsOfOptions = {
  /** Hears, in one sentence each, what of the document no tool has. */
  leftOut?: (sentence: string) => void
}

/**
 * The operations of a document, in its order. Parameters in cookies are left out, headers that a model must
 * not set, and operations whose body is no JSON.
 * `npx edgemcp openapi` does the same before a Worker is built, which then carries the operations alone.
 *
 * @param document OpenAPI 3.0 or 3.1, whole: references within it are followed, others are not
 * @throws Error with one sentence that names what is wrong, and where
 */
export function operationsOf(document: unknown, { leftOut = () => {} }: OperationsOfOptions = {}): Operation[] {
  if (!isObject(document) || !/^3\.[01]\./.test(`${document.openapi}`)) {
    throw new Error('This is no OpenAPI 3.0 or 3.1 document: it has no "openapi" that says so')
  }
  const paths = isObject(document.paths) ? document.paths : {}
  const found: Operation[] = []
  for (const [path, given] of Object.entries(paths)) {
    const item = followed(given, document, path)
    for (const method of methods) {
      if (!isObject(item[method])) continue
      const operation = operationAt(document, path, method, item, item[method], leftOut)
      if (operation) found.push(operation)
    }
  }
  const names = found.map(({ name }) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice) throw new Error(`Two operations have the name "${twice}": give one another operationId`)
  return found
}

function operationAt(
  document: Params,
  path: string,
  method: (typeof methods)[number],
  item: Params,
  operation: Params,
  leftOut: (sentence: string) => void,
): Operation | undefined {
  const where = `${method.toUpperCase()} ${path}`
  if (!path.startsWith('/')) throw new Error(`${where}: a path begins with "/"`)
  const name = nameOf(operation.operationId ?? `${method} ${path}`)
  const parameters: Record<string, Operation['parameters'][string]> = {}
  const properties: Record<string, unknown> = {}
  const required: string[] = []
  for (const given of [...listOf(item.parameters), ...listOf(operation.parameters)]) {
    const parameter = followed(given, document, where)
    const { in: place, name: own, schema, description } = parameter
    if (place === 'cookie') leftOut(`${where} without its parameter "${own}": it is a cookie`)
    if (typeof own !== 'string' || (place !== 'path' && place !== 'query' && place !== 'header')) continue
    if (place === 'header' && isReservedHeader(own)) {
      const isIgnored = ignoredHeaders.has(own.toLowerCase())
      if (!isIgnored) leftOut(`${where} without its parameter "${own}": only this server sets that header`)
      continue
    }
    const separator = separatorOf(parameter, document, where)
    if (separator === 'unsupported') {
      if (place === 'path' || parameter.required === true) {
        leftOut(`${where}, whose required parameter "${own}" is serialized in a way that is not supported`)
        return undefined
      }
      leftOut(`${where} without its parameter "${own}": it is serialized in a way that is not supported`)
      continue
    }
    const before = Object.entries(parameters).find(([, other]) => other.in === place && other.name === own)?.[0]
    const argument = before ?? (own in properties || own === 'body' ? `${place}_${own}` : own)
    parameters[argument] = { in: place, name: own, ...(separator && { separator }) }
    properties[argument] = {
      ...(isObject(schema) ? schema : {}),
      ...(typeof description === 'string' && { description }),
    }
    if ((place === 'path' || parameter.required === true) && !required.includes(argument)) required.push(argument)
  }
  const places = Object.values(parameters).filter((parameter) => parameter.in === 'path')
  const undeclared = [...path.matchAll(/\{([^}]+)\}/g)].find(([, own]) => !places.some((place) => place.name === own))
  if (undeclared) {
    leftOut(`${where}, which does not declare the parameter "${undeclared[1]}" of its path`)
    return undefined
  }
  const body = isObject(operation.requestBody) ? followed(operation.requestBody, document, where) : undefined
  const content = body && isObject(body.content) ? body.content : undefined
  const [type = '', json] = Object.entries(content ?? {}).find(([type]) => jsonType.test(type)) ?? []
  // Parameters such as a charset mean nothing for JSON.
  const bodyType = type.replace(/\s*;.*$/, '').toLowerCase()
  if (content && !json) {
    const types = Object.keys(content).join(', ')
    if (body?.required !== true) leftOut(`${where} without its body, which is no JSON but ${types}`)
    else {
      leftOut(`${where}, whose body is no JSON but ${types}`)
      return undefined
    }
  }
  if (isObject(json)) {
    properties.body = isObject(json.schema) ? json.schema : {}
    if (body?.required === true) required.push('body')
  }
  const schema = { type: 'object', properties, required, additionalProperties: false }
  return {
    name,
    description: [operation.summary, operation.description].filter(Boolean).join('\n\n') || where,
    method: method.toUpperCase(),
    path,
    parameters,
    hasBody: isObject(json),
    ...(isObject(json) && bodyType !== 'application/json' && { bodyType }),
    input: closed(schema, document, where),
    annotations: {
      readOnlyHint: method === 'get' || method === 'head' || method === 'options',
      destructiveHint: method === 'delete' || method === 'put',
      idempotentHint: method !== 'post' && method !== 'patch',
      openWorldHint: true,
    },
  }
}

/**
 * What stands between the entries of a list in a query, if they are one parameter.
 *
 * @see https://spec.openapis.org/oas/v3.1.1.html#style-values
 */
function separatorOf(parameter: Params, document: Params, where: string): ',' | ' ' | '|' | 'unsupported' | undefined {
  const { in: place, content, schema: given } = parameter
  const byDefault = place === 'query' ? 'form' : 'simple'
  const { style = byDefault, explode = style === 'form' } = parameter
  const schema = isObject(given) ? followed(given, document, where) : {}
  if (content !== undefined || schema.type === 'object' || isObject(schema.properties)) return 'unsupported'
  if (style === byDefault) return place === 'query' && explode === false && schema.type === 'array' ? ',' : undefined
  if (place !== 'query' || schema.type !== 'array') return 'unsupported'
  if (style === 'spaceDelimited') return explode ? undefined : ' '
  if (style === 'pipeDelimited') return explode ? undefined : '|'
  return 'unsupported'
}

const jsonType = /^application\/(?:[\w.-]+\+)?json\b/i

const nameOf = (text: unknown): string =>
  String(text)
    .replace(/[^\w.-]+/g, '_')
    .replace(/^_+|_+$/g, '')
    .slice(0, 128)

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

/** What a reference means, for anything but a schema. */
function followed(given: unknown, document: Params, where: string): Params {
  let found = given
  for (let depth = 0; isObject(found) && typeof found.$ref === 'string'; depth += 1) {
    if (depth === 20) throw new Error(`The references of ${where} go round in a circle`)
    found = at(found.$ref, document, where)
  }
  if (!isObject(found)) throw new Error(`Something of ${where} is not an object`)
  return found
}

function at(reference: string, document: Params, where: string): unknown {
  const names = reference.startsWith('#/') ? reference.slice(2).split('/') : undefined
  const found = names?.reduce<unknown>((value, name) => {
    const key = decoded(name).replaceAll('~1', '/').replaceAll('~0', '~')
    return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
  }, document)
  if (found === undefined) throw new Error(`${where} refers to ${reference}, which is not in the document`)
  return found
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // It has a percent sign that encodes nothing.
    return text
  }
}

/** A schema with all that it refers to, in its own `$defs`. */
function closed(schema: Params, document: Params, where: string): JsonSchema {
  const definitions: Record<string, unknown> = {}
  const names = new Map<string, string>()
  const isOld = String(document.openapi).startsWith('3.0')
  const rewritten = rewrite(schema) as Params
  return (names.size > 0 ? { ...rewritten, $defs: definitions } : rewritten) as JsonSchema

  function rewrite(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(rewrite)
    if (!isObject(value)) return value
    if (typeof value.$ref === 'string') return { $ref: `#/$defs/${nameFor(value.$ref)}` }
    const members = Object.entries(value).filter(([key]) => !foreign.has(key) && !key.startsWith('x-'))
    const copy = Object.fromEntries(
      members.map(([key, member]) => {
        if (literal.has(key)) return [key, member]
        return [key, named.has(key) && isObject(member) ? inMap(member) : rewrite(member)]
      }),
    )
    const requested = withoutReadOnly(copy)
    return isOld ? modern(requested) : requested
  }

  function inMap(schemas: Params): Params {
    return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, rewrite(schema)]))
  }

  function nameFor(reference: string): string {
    const known = names.get(reference)
    if (known) return known
    const last = nameOf(reference.split('/').at(-1))
    const name = Object.hasOwn(definitions, last) ? `${last}_${names.size}` : last
    names.set(reference, name)
    definitions[name] = {}
    definitions[name] = rewrite(at(reference, document, where))
    return name
  }
}

/** Members that OpenAPI has and JSON Schema has not. */
const foreign = new Set(['discriminator', 'xml', 'externalDocs', 'example'])
/** Members whose values are schemas by name. */
const named = new Set(['properties', 'patternProperties', '$defs', 'dependentSchemas'])
/** Members whose values are no schemas. */
const literal = new Set(['enum', 'const', 'default', 'examples', 'required'])

/**
 * An object schema without the properties that only responses have: `required` does not mean them in requests.
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

/** OpenAPI 3.0 had words of its own for what JSON Schema says otherwise. */
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
