/** The arguments of a tool, from the parameters and the body of an operation. */
import { isObject } from '../../protocol/jsonrpc.ts'
import type { JsonSchema, Params } from '../../protocol/types.ts'
import { namesInPath } from './lost-arguments.ts'
import {
  canHaveBody,
  multipartForm,
  type Operation,
  type OperationParameter,
  urlEncodedForm,
} from './operation-type.ts'
import { applicators, followed, isVersion30, schemasOf } from './references.ts'
import { isHeaderName, isReservedHeader, isSecurityHeader } from './reserved-headers.ts'
import { isFile, type SchemaSource, Schemas } from './schemas.ts'
import { asciiName } from './tool-names.ts'

/** An operation, where a document describes it. */
export type OperationSource = SchemaSource & {
  readonly path: string
  /** In lower case. */
  readonly method: string
}

/** How the members of a form are sent. */
type FormFields = {
  readonly fields: NonNullable<Operation['bodyFields']>
  readonly hasOtherFiles: boolean
}

/** `type`: the media type in lower case, without parameters. */
type Body = Partial<FormFields> & {
  readonly schema: unknown
  readonly type: string
  readonly isRequired: boolean
}

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
    if (place === 'header' && (isReservedHeader(name) || isSecurityHeader(name, document))) {
      const isIgnored = ignoredHeaders.has(name.toLowerCase())
      if (!isIgnored) onSkipped(`${where} without its parameter "${name}": only the server may set that header`)
      return true
    }
    if (place === 'path' && !namesInPath(path).includes(name)) {
      onSkipped(`${where} without its parameter "${name}": its path has no {${name}}`)
      return true
    }
    const isRequired = place === 'path' || parameter.required === true
    const style = styleOf(parameter, document, where)
    if (style === 'unsupported') {
      if (isRequired)
        onSkipped(`${where}, whose required parameter "${name}" is serialized in a way that is not supported`)
      else onSkipped(`${where} without its parameter "${name}": it is serialized in a way that is not supported`)
      return !isRequired
    }
    const argument = freeArgument(place, name, this.#properties)
    this.parameters[argument] = { in: place, name, ...style }
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

  addBody({ schema, type, isRequired }: Body): void {
    this.#schemas.hasFiles = type === multipartForm
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
 * The body of an operation; `undefined` for one that has none.
 *
 * @returns `'unsupported'`, which is reported, for one that cannot be sent
 */
export function bodyOf(
  { document, method, where, onSkipped }: OperationSource,
  requestBody: unknown,
): Body | 'unsupported' | undefined {
  const body = isObject(requestBody) ? followed(requestBody, document, where) : undefined
  const content = Object.entries(body && isObject(body.content) ? body.content : {})
  if (!body || content.length === 0) return undefined
  const isRequired = body.required === true
  if (!canHaveBody(method)) {
    if (isRequired) onSkipped(`${where}, because a request of this method cannot have a body`)
    else onSkipped(`${where} without its body, because a request of this method cannot have one`)
    return isRequired ? 'unsupported' : undefined
  }
  const media = content.flatMap(([name, media]) => (isObject(media) ? [{ type: mediaType(name), media }] : []))
  const json = media.find(({ type }) => jsonType.test(type))
  if (json) return { schema: json.media.schema, type: json.type, isRequired }
  for (const form of [urlEncodedForm, multipartForm]) {
    const schema = media.find(({ type }) => type === form)?.media.schema
    const { encoding } = media.find(({ type }) => type === form)?.media ?? {}
    const fields = schema === undefined ? undefined : formFieldsOf(schema, encoding, document, form === multipartForm)
    if (fields) return { schema, type: form, isRequired, ...fields }
  }
  onSkipped(`${where}, whose body is neither JSON nor a supported form but ${content.map(([type]) => type).join(', ')}`)
  return 'unsupported'
}

/** Parameters such as a charset mean nothing for JSON. */
const mediaType = (name: string): string =>
  name
    .replace(/\s*;.*$/, '')
    .trim()
    .toLowerCase()

/**
 * Returns how the members of a form are sent; `undefined` if it is no object, or has a style that is not supported.
 *
 * @see https://spec.openapis.org/oas/v3.1.1.html#encoding-object
 */
function formFieldsOf(
  schema: unknown,
  encoding: unknown,
  document: Params,
  canHaveFiles: boolean,
): FormFields | undefined {
  if (!mayBe('object', schema, document)) return undefined
  const parts = schemasOf(schema, document, applicators)
  const names = new Set(parts.flatMap(({ properties }) => Object.keys(isObject(properties) ? properties : {})))
  const hasFile = (schemas: unknown[]) => canHaveFiles && schemas.some((each) => mayBeFile(each, document))
  const hasOtherFiles = hasFile(othersIn(parts))
  const fields = [...names].map((name) => {
    const properties = parts.flatMap((part) => propertyOf(part, name))
    const others = othersIn(parts.filter((part) => propertyOf(part, name).length === 0))
    const style = isObject(encoding) && isObject(encoding[name]) ? encoding[name] : {}
    const isFile = hasFile([...properties, ...others])
    const type = canHaveFiles ? singleType(style) : {}
    return [name, isFile ? { isFile, ...type } : fieldOf({ anyOf: properties }, style, document, type)] as const
  })
  const known = fields.flatMap(([name, field]) => (field ? [[name, field] as const] : []))
  if (known.length < fields.length) return undefined
  // A field without a style is named where others may be files.
  const named = known.filter(([, field]) => hasOtherFiles || Object.keys(field).length > 0)
  return { fields: Object.fromEntries(named), hasOtherFiles }
}

/** Returns the schema of a property that a schema names, as a list. */
const propertyOf = ({ properties }: Params, name: string): unknown[] =>
  isObject(properties) && Object.hasOwn(properties, name) ? [properties[name]] : []

/** Returns the schemas of properties that these schemas do not name. */
const othersIn = (parts: readonly Params[]): unknown[] =>
  parts.flatMap(({ patternProperties, additionalProperties, unevaluatedProperties }) => [
    ...Object.values(isObject(patternProperties) ? patternProperties : {}),
    additionalProperties,
    unevaluatedProperties,
  ])

/** Whether a field may be a file, or a list with files, at least among others. */
function mayBeFile(property: unknown, document: Params): boolean {
  const parts = schemasOf(property, document, applicators)
  const items = parts.flatMap(({ items, prefixItems }) => [items, prefixItems].flat())
  return parts.some(isFile) || items.some((each) => schemasOf(each, document, applicators).some(isFile))
}

/** Returns the media type of a field; none for a wildcard or a list, which does not say which type a value has. */
const singleType = ({ contentType }: Params): { contentType?: string } =>
  typeof contentType === 'string' && /^[\w.+-]+\/[\w.+-]+(?: *;[^,]*)?$/.test(contentType) ? { contentType } : {}

/**
 * @param type means nothing for a field with a style
 * @returns `undefined` for a style that is not supported
 */
function fieldOf(property: unknown, { style, explode }: Params, document: Params, type: { contentType?: string }) {
  const isList = mayBe('array', property, document)
  if (style === 'deepObject') return { isDeep: true }
  if (style === undefined && explode === undefined) return type
  if (mayBe('object', property, document)) return undefined
  const separator = separatorOf(style ?? 'form', explode)
  if (separator === 'unsupported') return undefined
  return separator && isList ? { separator } : {}
}

/** The separator of a list that is one field, if it is one. */
function separatorOf(style: unknown, explode: unknown): ',' | ' ' | '|' | 'unsupported' | undefined {
  if (style === 'form') return explode === false ? ',' : undefined
  if (style === 'spaceDelimited') return explode ? undefined : ' '
  if (style === 'pipeDelimited') return explode ? undefined : '|'
  return 'unsupported'
}

type ParameterStyle = Pick<OperationParameter, 'separator' | 'prefix'>

/**
 * How the value of a parameter is serialized.
 *
 * @see https://spec.openapis.org/oas/v3.1.1.html#style-values
 */
function styleOf(parameter: Params, document: Params, where: string): ParameterStyle | 'unsupported' {
  const { in: place, content } = parameter
  const value = schemaOf(parameter)
  const isObjects = mayBe('object', value, document)
  if (place === 'querystring') return isObjects ? {} : 'unsupported'
  const { style = place === 'query' ? 'form' : 'simple', explode } = parameter
  if (isObject(value)) followed(value, document, where)
  if (content !== undefined || isObjects) return 'unsupported'
  if (style === 'simple' && place !== 'query') return {}
  if (place === 'path') return pathStyleOf(style, String(parameter.name), explode === true)
  if (place === 'header') return 'unsupported'
  const isList = mayBe('array', value, document)
  const separator = separatorOf(style, explode)
  if (separator === 'unsupported' || (style !== 'form' && !isList)) return 'unsupported'
  return separator && isList ? { separator } : {}
}

/** @see https://www.rfc-editor.org/rfc/rfc6570#section-3.2.5 */
function pathStyleOf(style: unknown, name: string, isExploded: boolean): ParameterStyle | 'unsupported' {
  const prefix = style === 'label' ? '.' : style === 'matrix' ? `;${encodeURIComponent(name)}=` : undefined
  return prefix === undefined ? 'unsupported' : { prefix, separator: isExploded ? prefix : ',' }
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
const mayBe = (type: 'array' | 'object', schema: unknown, document: Params): boolean =>
  schemasOf(schema, document).some((part) =>
    part.type === undefined
      ? keywordsOf[type].some((key) => Object.hasOwn(part, key))
      : [part.type].flat().includes(type),
  )

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
