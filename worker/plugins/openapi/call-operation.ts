/** The HTTP request of an operation, and the conversion of its response into a tool result. */

import type { ReceivedByPost } from '../../client/received.ts'
import type { RequestGuard, Resilience } from '../../client/request-guard.ts'
import { preview } from '../../declarations/check-options.ts'
import { audio, image, text } from '../../declarations/content.ts'
import type { Context } from '../../declarations/context.ts'
import { refuseRounded } from '../../declarations/refuse-rounded.ts'
import type { UpstreamToken } from '../../declarations/upstream-token.ts'
import { postOf } from '../../engine/call-context.ts'
import { partyOf } from '../../engine/caller.ts'
import { maxAnswerBytes } from '../../protocol/bounded-body.ts'
import { ToolError } from '../../protocol/errors.ts'
import { countValues, isLongerAsJson } from '../../protocol/json-size.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import type { CallToolResult, Params } from '../../protocol/types.ts'
import { startOf, wellFormedJson } from '../../protocol/well-formed.ts'
import {
  bounded,
  boundedEncoder,
  encodeForm,
  type Field,
  fieldsOf,
  isUnsent,
  joinEntries,
  sentMembers,
  textsOf,
  tooLong,
} from './form-fields.ts'
import { multipartForm, type Operation, urlEncodedForm } from './operation-type.ts'
import { dotSegments, type Paths } from './other-paths.ts'
import { declaredNames, schemasOf } from './references.ts'
import { requestBody } from './request-body.ts'
import { headerKey } from './reserved-headers.ts'
import { type Answer, sendGuarded } from './send-guarded.ts'

/** Characters of the body of an error that the model receives. */
const maxErrorCharacters = 1000

/** Far above what servers accept in a URL, and below what the platform sends: beyond that, it fails as if the API did not answer. */
const maxUrlCharacters = 65_536

/** What many servers accept of all headers. */
const maxHeaderCharacters = 16_384

/** Levels of the JSON of structured content, far from the end of the stack for what reads it. */
const maxJsonLevels = 1_000

/** Where and how the operations of an API are called. */
export type Api = {
  readonly baseUrl: string
  readonly guard: RequestGuard
  readonly resilience: Resilience
  /** The paths of all operations, also of those without a tool. */
  readonly paths: Paths
  /** Counts what the calls of each POST receive. */
  readonly received: ReceivedByPost
  /** Whether the result has the body of the response, JSON, as structured content. */
  readonly isStructured: boolean
}

/** Sends the request of an operation, and returns the response of the API as a result. */
export async function callOperation(
  operation: Operation,
  { baseUrl, guard, resilience, paths, received: receivedByPost, isStructured }: Api,
  args: Params,
  headers: readonly [name: string, value: string | undefined][],
  ctx: Pick<Context, 'signal' | 'principal' | 'request'>,
  token?: UpstreamToken,
): Promise<CallToolResult> {
  refuseRounded(args)
  const { method, path, parameters, hasBody, bodyType = 'application/json' } = operation
  const inSegment = boundedEncoder(encodeSegment, 'URL', maxUrlCharacters)
  const inQuery = boundedEncoder(encodeForm, 'query', maxUrlCharacters)
  const basePath = new URL(baseUrl).pathname.replace(/\/$/, '')
  const filled = path.replace(/\{([^}]+)\}/g, (_, name) => inPath(name))
  const dots = dotSegments(filled)
  if (dots.length > dotSegments(path).length) throw noSegment(dots[0])
  const other = paths.findOther(path, filled)
  if (other !== undefined) throw new ToolError(`${preview(filled)} is another operation, of the path ${other}`)
  const url = new URL(baseUrl.replace(/\/$/, '') + filled)
  const sent = new Headers({ Accept: 'application/json' })
  const inHeaders = bounded(headerFields(), 'header section', maxHeaderCharacters, ': \r\n'.length)
  for (const [name, value] of inHeaders) setHeader(sent, name, value)
  // Not by `searchParams`, which would encode separators too.
  const query = Array.from(bounded(queryFields(), 'query', maxUrlCharacters), (field) => field.join('='))
  url.search = [url.search.slice(1), ...query].filter(Boolean).join('&')
  if (url.href.length > maxUrlCharacters) throw tooLong('URL', maxUrlCharacters)
  // After the arguments: the developer's value wins, also a missing one.
  const owned = new Set(headers.map(([name]) => headerKey(name)))
  for (const name of [...sent.keys()]) if (owned.has(headerKey(name))) sent.delete(name)
  for (const [name, value] of headers) if (value !== undefined) sent.set(name, value)
  const body = hasBody && args.body !== undefined ? requestBody(operation, args.body) : null
  if (body !== null && (bodyType === urlEncodedForm || bodyType === multipartForm))
    refuseUnsentMembers('body', operation.bodyFields)
  if (typeof body === 'string') sent.set('Content-Type', bodyType)
  // `fetch` sets it, from the type of the form.
  else if (body) sent.delete('Content-Type')
  const received = receivedByPost.of(postOf(ctx))
  const send = (accessToken: string | undefined) => {
    if (accessToken !== undefined) sent.set('Authorization', `Bearer ${accessToken}`)
    const request = { method, headers: sent, body }
    return sendGuarded(guard, resilience, { url, path, basePath }, request, partyOf(ctx), ctx, received)
  }
  const first = await send(await token?.get())
  const renewed = await token?.after(first)
  // A request that was refused for its token had no effect.
  const answer = renewed === undefined ? first : await send(renewed)
  const { status, ok, bytes, length } = answer
  const where = `${method} ${path}: HTTP ${status}`
  if (length > received.maxBytes) throw tooLarge(`${received.maxBytes} bytes`)
  if (ok && isStructured) {
    const json = wellFormedJson(bytes.text())
    const { values, maxValues } = received
    const count = countValues(json, maxValues - values, maxJsonLevels)
    if (Number.isNaN(count)) throw tooLarge(`${maxJsonLevels} levels`)
    received.values += count
    if (received.values > maxValues) throw tooLarge(`${maxValues} values`)
    const structuredContent = jsonObject(json)
    if (structuredContent) return { content: [text(json)], structuredContent }
    throw new Error(`${where} without a JSON object, which the outputSchema of the tool needs`)
  }
  return resultOf(answer, where)

  function tooLarge(bound: string): ToolError {
    return new ToolError(
      `${where} with more than ${bound} for one POST, more than openApiTools() reads: ask for a smaller part`,
    )
  }

  function argumentOf(name: string): unknown {
    return memberOf(args, name)
  }

  function* headerFields(): Iterable<Field> {
    for (const [argument, { in: place, name }] of Object.entries(parameters)) {
      if (place !== 'header') continue
      const value = argumentOf(argument)
      if (textsOf(value).length > 0) yield [name, joinEntries(name, value, ',', String)]
      else refuseUnsent(argument)
    }
  }

  function* queryFields(): Iterable<Field> {
    for (const [argument, { in: place, name, separator }] of Object.entries(parameters)) {
      if (place !== 'query' && place !== 'querystring') continue
      const value = argumentOf(argument)
      let isSent = false
      const fields =
        place === 'query'
          ? fieldsOf(name, value, { separator }, inQuery)
          : membersOf(argument, value ?? {}, operation, ownNames(), inQuery)
      for (const field of fields) {
        isSent = true
        yield field
      }
      if (!isSent) refuseUnsent(argument)
      else if (place === 'querystring') refuseUnsentMembers(argument)
    }
  }

  /** Returns the names of the query that the path and other arguments make. */
  function ownNames(): ReadonlySet<string> {
    const others = Object.values(parameters).filter(({ in: place }) => place === 'query')
    return new Set([...url.searchParams.keys(), ...others.map(({ name }) => name)])
  }

  /** @throws ToolError for a required argument: without the filter that it is, a request may have other effects */
  function refuseUnsent(argument: string): void {
    const { required } = operation.input
    if (Array.isArray(required) && required.includes(argument)) throw unsent(argument)
  }

  /**
   * @param argument an object whose members are fields
   * @throws ToolError for a required member that sends nothing
   */
  function refuseUnsentMembers(argument: string, styles: Operation['bodyFields'] = {}): void {
    const value: Params = Object(argumentOf(argument))
    const schemas = schemasOf(Object(operation.input.properties)[argument], operation.input, ['allOf'])
    const names = schemas.flatMap(({ required }) => (Array.isArray(required) ? required.map(String) : []))
    const name = names.find((name) => isUnsent(memberOf(value, name), memberOf(styles, name)?.isDeep))
    if (name !== undefined) throw unsent(name)
  }

  function inPath(name: string): string {
    const [argument, { prefix = '', separator = ',' }] = Object.entries(parameters).find(
      ([, place]) => place.in === 'path' && place.name === name,
    ) ?? [name, {}]
    const text = joinEntries(name, argumentOf(argument), separator, inSegment)
    if (text === '') throw noSegment(text)
    return prefix + text
  }

  function encodeSegment(text: string): string {
    if (!text.isWellFormed()) throw noSegment(text)
    return encodeURIComponent(text)
  }

  function noSegment(text: string | undefined): ToolError {
    return new ToolError(`${preview(text)} cannot be a segment of the path ${path}`)
  }
}

/** Returns a member; `undefined` if it is absent, also for names that objects inherit, such as `constructor`. */
const memberOf = <V>(value: Readonly<Record<string, V>>, name: string): V | undefined =>
  Object.hasOwn(value, name) ? value[name] : undefined

const unsent = (name: string): ToolError =>
  new ToolError(`"${name}" is required, and its value sends nothing: pass another one`)

/**
 * Returns the parameters of a query that is one argument: one for each entry of a list.
 *
 * @param taken names that the query already has
 * @throws ToolError for a value that is no object, and for a name that is taken, or that the API would read as another one
 * @see https://spec.openapis.org/oas/v3.2.0.html#parameter-locations
 */
function* membersOf(
  argument: string,
  value: unknown,
  { input }: Operation,
  taken: ReadonlySet<string>,
  encode: (text: string) => string,
): Iterable<Field> {
  if (!isObject(value)) {
    throw new ToolError(`"${argument}" must be an object: its members are the parameters of the query`)
  }
  const declared = new Set([...declaredNames(argument, input), ...taken])
  for (const [name, member] of sentMembers(value, declared)) {
    if (taken.has(name)) throw new ToolError(`The query already has "${name}": leave it out of "${argument}"`)
    yield* fieldsOf(name, member, {}, encode)
  }
}

/** Whether HTTP can carry a value. workerd would send a lone surrogate as bytes that are not UTF-8. */
export function isHeaderValue(value: string): boolean {
  try {
    new Headers().set('x', value)
    return value.isWellFormed()
  } catch {
    return false
  }
}

/** @throws ToolError for a value that HTTP cannot carry, such as one with a line break, or without the blanks around it */
function setHeader(headers: Headers, name: string, value: string): void {
  if (!isHeaderValue(value) || /^[\t ]|[\t ]$/.test(value))
    throw new ToolError(`${preview(value)} cannot be sent as the header ${name}`)
  headers.set(name, value)
}

/** @param where the request and the status, for texts */
function resultOf(answer: Answer, where: string): CallToolResult {
  const { status, ok, mimeType, charset, bytes } = answer
  const length = bytes.bytes().byteLength
  const readable = textIn(answer)
  if (ok && readable === undefined) {
    if (mimeType.startsWith('image/')) return { content: [image(bytes.bytes(), mimeType)] }
    if (mimeType.startsWith('audio/')) return { content: [audio(bytes.bytes(), mimeType)] }
  }
  const type = `${mimeType || 'an unknown type'}${charset === undefined ? '' : ` with the charset ${preview(charset)}`}`
  if (ok && readable === undefined)
    return { content: [text(`${where} with ${length} bytes of ${type}, which is neither text, image nor audio`)] }
  if (ok && readable !== undefined && isLongerAsJson(readable, maxAnswerBytes)) {
    throw new ToolError(
      `${where} with a body of more than ${maxAnswerBytes} characters of JSON, more than openApiTools() sends: ask for a smaller part`,
    )
  }
  if (ok) return { content: [text(readable || `HTTP ${status}`)] }
  const message =
    readable === undefined
      ? `${where} with ${length} bytes of ${type}`
      : `${where}. ${startOf(readable, maxErrorCharacters)}`.trim()
  return { content: [text(message)], isError: true }
}

/** Returns the body of a response as text; `undefined` for one that is no text, or has an unknown charset. */
function textIn({ mimeType, charset, bytes }: Answer): string | undefined {
  const isText = /^text\/|[/+](?:json|xml)$/.test(mimeType)
  // JSON has no other encoding.
  const isUtf8 = /[/+]json$/.test(mimeType) || bytes.bytes().byteLength === 0
  if (!isText && !isUtf8 && /^(?:image|audio)\//.test(mimeType)) return undefined
  try {
    const decoder = new TextDecoder(isUtf8 ? 'utf-8' : charset, { fatal: !isText, ignoreBOM: false })
    return decoder.decode(bytes.bytes())
  } catch {
    return undefined
  }
}

function jsonObject(text: string): Params | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
