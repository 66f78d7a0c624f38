/**
 * What an OpenAPI document says of its operations, as what tools need.
 *
 * @see https://spec.openapis.org/oas/v3.1.1.html
 */
import { checkOptions } from '../../declarations/check-options.ts'
import { fn } from '../../declarations/option-kinds.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import type { JsonSchema, Params } from '../../protocol/types.ts'
import { namesInPath } from './lost-arguments.ts'
import { toolNames } from './names.ts'
import { canHaveBody, isSamePlace, type Operation } from './operation-type.ts'
import { followed, isVersion30 } from './references.ts'
import { isReservedHeader } from './reserved-headers.ts'
import { Schemas } from './schemas.ts'

const methods = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options'] as const
/** OpenAPI gives them no meaning as parameters. */
const ignoredHeaders = new Set(['accept', 'content-type', 'authorization'])

export type ParseOpenApiOptions = {
  /** Hears, in one sentence each, what of the document no tool has. */
  onSkipped?: (sentence: string) => void
}

/**
 * The operations of a document, in its order. Parameters in cookies are left out, headers that a model must
 * not set, and operations whose body is no JSON.
 * `npx edgemcp openapi` does the same before a Worker is built, which then carries the operations alone.
 *
 * @param document OpenAPI 3.0 or 3.1, whole: references within it are followed, others are not
 * @throws Error with one sentence that names what is wrong, and where
 */
export function parseOpenApi(document: unknown, options: ParseOpenApiOptions = {}): Operation[] {
  checkOptions('parseOpenApi()', options, { onSkipped: fn })
  const { onSkipped = () => {} } = options
  if (!isObject(document) || !/^3\.[01]\./.test(`${document.openapi}`)) {
    throw new Error('Not an OpenAPI 3.0 or 3.1 document: its "openapi" must be a version such as "3.1.0"')
  }
  const paths = isObject(document.paths) ? document.paths : {}
  const operations: { operationId: unknown; method: string; operation: Omit<Operation, 'name'> }[] = []
  for (const [path, value] of Object.entries(paths)) {
    const item = followed(value, document, path, (reference) => reference)
    for (const method of methods) {
      if (!isObject(item[method])) continue
      const operation = operationAt(document, path, method, item, item[method], onSkipped)
      if (operation) operations.push({ operationId: item[method].operationId, method, operation })
    }
  }
  const names = toolNames(operations.map(({ operation: { path }, ...named }) => ({ ...named, path })))
  return operations.map(({ operation }, index) => ({ name: names[index] as string, ...operation })) // one name for each
}

function operationAt(
  document: Params,
  path: string,
  method: (typeof methods)[number],
  item: Params,
  operation: Params,
  onSkipped: (sentence: string) => void,
): Omit<Operation, 'name'> | undefined {
  const where = `${method.toUpperCase()} ${path}`
  if (!path.startsWith('/')) throw new Error(`${where}: a path begins with "/"`)
  const schemas = new Schemas(document, where)
  const parameters: Record<string, Operation['parameters'][string]> = {}
  const properties: Record<string, unknown> = {}
  const required: string[] = []
  const described = (reference: Params): Params =>
    isVersion30(document) || reference.description === undefined ? {} : { description: reference.description }
  for (const value of [...listOf(item.parameters), ...listOf(operation.parameters)]) {
    const parameter = followed(value, document, where, described)
    const { in: place, name: own, schema, description } = parameter
    if (place === 'cookie') onSkipped(`${where} without its parameter "${own}": it is a cookie`)
    if (typeof own !== 'string' || (place !== 'path' && place !== 'query' && place !== 'header')) continue
    if (place === 'header' && isReservedHeader(own)) {
      const isIgnored = ignoredHeaders.has(own.toLowerCase())
      if (!isIgnored) onSkipped(`${where} without its parameter "${own}": only this server sets that header`)
      continue
    }
    if (place === 'path' && !namesInPath(path).includes(own)) {
      onSkipped(`${where} without its parameter "${own}": its path has no {${own}}`)
      continue
    }
    const separator = separatorOf(parameter, document, where)
    if (separator === 'unsupported') {
      if (place === 'path' || parameter.required === true) {
        onSkipped(`${where}, whose required parameter "${own}" is serialized in a way that is not supported`)
        return undefined
      }
      onSkipped(`${where} without its parameter "${own}": it is serialized in a way that is not supported`)
      continue
    }
    const before = Object.entries(parameters).find(([, other]) => isSamePlace(other, { in: place, name: own }))?.[0]
    const argument = before ?? freeArgument(place, own, properties)
    parameters[argument] = { in: place, name: own, ...(separator && { separator }) }
    properties[argument] = {
      ...(isObject(schema) ? (schemas.copy(schema) as Params) : {}), // a copy of an object is one
      ...(typeof description === 'string' && { description }),
    }
    if ((place === 'path' || parameter.required === true) && !required.includes(argument)) required.push(argument)
  }
  const places = Object.values(parameters).filter((parameter) => parameter.in === 'path')
  const undeclared = namesInPath(path).find((own) => !places.some((place) => place.name === own))
  if (undeclared) {
    onSkipped(`${where}, which does not declare the parameter "${undeclared}" of its path`)
    return undefined
  }
  const body = isObject(operation.requestBody) ? followed(operation.requestBody, document, where) : undefined
  const content = body && isObject(body.content) ? body.content : undefined
  const [type = '', json] = Object.entries(content ?? {}).find(([type]) => jsonType.test(type)) ?? []
  // Parameters such as a charset mean nothing for JSON.
  const bodyType = type.replace(/\s*;.*$/, '').toLowerCase()
  if (content && !json) {
    const types = Object.keys(content).join(', ')
    if (body?.required !== true) onSkipped(`${where} without its body, which is no JSON but ${types}`)
    else {
      onSkipped(`${where}, whose body is no JSON but ${types}`)
      return undefined
    }
  }
  const hasBody = isObject(json) && canHaveBody(method)
  if (isObject(json) && !hasBody) {
    if (body?.required === true) {
      onSkipped(`${where}, whose body a request of this method cannot have`)
      return undefined
    }
    onSkipped(`${where} without its body, which a request of this method cannot have`)
  }
  if (hasBody) {
    properties.body = isObject(json.schema) ? schemas.copy(json.schema) : {}
    if (body?.required === true) required.push('body')
  }
  const { definitions } = schemas
  const hasDefinitions = Object.keys(definitions).length > 0
  const input = {
    type: 'object',
    properties,
    required,
    additionalProperties: false,
    ...(hasDefinitions && { $defs: definitions }),
  } as JsonSchema // its parts are schemas of the document
  return {
    description: [operation.summary, operation.description].filter(Boolean).join('\n\n') || where,
    method: method.toUpperCase(),
    path,
    parameters,
    hasBody,
    ...(hasBody && bodyType !== 'application/json' && { bodyType }),
    input,
    annotations: {
      readOnlyHint: method === 'get' || method === 'head' || method === 'options',
      destructiveHint: method === 'delete' || method === 'put',
      idempotentHint: method !== 'post' && method !== 'patch',
      openWorldHint: true,
    },
  }
}

/**
 * The separator of the entries of a list in a query, if they are one parameter.
 *
 * @see https://spec.openapis.org/oas/v3.1.1.html#style-values
 */
function separatorOf(parameter: Params, document: Params, where: string): ',' | ' ' | '|' | 'unsupported' | undefined {
  const { in: place, content, schema: value } = parameter
  const byDefault = place === 'query' ? 'form' : 'simple'
  const { style = byDefault, explode = style === 'form' } = parameter
  const schema = isObject(value) ? followed(value, document, where) : {}
  if (content !== undefined || schema.type === 'object' || isObject(schema.properties)) return 'unsupported'
  if (style === byDefault) return place === 'query' && explode === false && schema.type === 'array' ? ',' : undefined
  if (place !== 'query' || schema.type !== 'array') return 'unsupported'
  if (style === 'spaceDelimited') return explode ? undefined : ' '
  if (style === 'pipeDelimited') return explode ? undefined : '|'
  return 'unsupported'
}

/** The name of an argument for a parameter: its own, or with its place, or with a number as well. `body` is for the body. */
function freeArgument(place: string, own: string, taken: Readonly<Record<string, unknown>>): string {
  const isTaken = (name: string) => Object.hasOwn(taken, name) || name === 'body' || name === '__proto__'
  if (!isTaken(own)) return own
  const named = `${place}_${own}`
  let name = named
  for (let count = 2; isTaken(name); count += 1) name = `${named}_${count}`
  return name
}

const jsonType = /^application\/(?:[\w.-]+\+)?json\b/i

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
