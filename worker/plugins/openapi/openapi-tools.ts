import { ReceivedByPost } from '../../client/received.ts'
import { RequestGuard } from '../../client/request-guard.ts'
import { checkOptions, checkValue, isPlain, type KindsOf } from '../../declarations/check-options.ts'
import type { Awaitable } from '../../declarations/context.ts'
import * as kind from '../../declarations/option-kinds.ts'
import type { Module } from '../../declarations/server.ts'
import { SelectedTools, selectionKinds, type ToolSelection } from '../../declarations/tool-selection.ts'
import {
  type HeadersContext,
  type ResilienceOptions,
  readResilience,
  resilienceKinds,
} from '../../declarations/upstream-options.ts'
import { UpstreamToken, type UpstreamTokenOptions, upstreamKind } from '../../declarations/upstream-token.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import { isSecureUrl } from '../../protocol/secure-url.ts'
import type { Params } from '../../protocol/types.ts'
import { callOperation, isHeaderValue } from './call-operation.ts'
import { refuseLostArguments } from './lost-arguments.ts'
import type { Operation } from './operation-type.ts'
import { Paths } from './other-paths.ts'
import { headerKey, isHeaderName, isReservedHeader } from './reserved-headers.ts'
import { shortName } from './tool-names.ts'

type HeaderValue = string | undefined

/** Configures `openApiTools()`. */
export type OpenApiToolsOptions = ResilienceOptions &
  UpstreamTokenOptions &
  ToolSelection & {
    /** URL of the API, which paths are appended to: https, or http on this machine, without query and credentials. */
    baseUrl: string
    /**
     * Headers of each request, such as credentials, or functions that return them, possibly after a look-up. The token of the caller is not
     * forwarded. They override arguments of the model: a header that is named here is not an argument. Default: none.
     */
    headers?:
      | Readonly<Record<string, HeaderValue | ((caller: HeadersContext) => Awaitable<HeaderValue>)>>
      | ((caller: HeadersContext) => Awaitable<Headers | Readonly<Record<string, HeaderValue>>>)
    /** Start of the names of the tools. A name of more than 64 characters is cut, and ends with a hash. Default: an empty text. */
    prefix?: string
    /**
     * Scopes that a token needs to call an operation: all scopes of the list, or those that a function returns for the operation. Default:
     * none.
     */
    scopes?: readonly string[] | ((operation: Operation) => readonly string[])
  }

const kinds: KindsOf<OpenApiToolsOptions> = {
  // Checked below, as a URL.
  baseUrl: kind.anything,
  headers: [
    (value) => typeof value === 'function' || isHeaders(value),
    "a function, or an object such as { 'X-Key': key }",
  ],
  upstream: upstreamKind,
  prefix: kind.string,
  ...resilienceKinds,
  ...selectionKinds,
  scopes: kind.scopesOrFunction,
}

const isHeaders = (value: unknown): boolean =>
  isObject(value) &&
  isPlain(value) &&
  Object.entries(value).every(([name, header]) => isHeaderName(name) && /string|undefined|function/.test(typeof header))

const isOperation = (value: unknown): boolean =>
  isObject(value) &&
  typeof value.name === 'string' &&
  typeof value.path === 'string' &&
  isObject(value.parameters) &&
  isObject(value.input)

/**
 * Creates a tool for each operation of an HTTP API, as a module for `server.use`. The server needs the option `jsonSchema` of
 * `edgemcp/json-schema`.
 *
 * @param list the operations that `parseOpenApi` returns, or that `npx edgemcp openapi` writes
 * @throws Error for an invalid `baseUrl`, an invalid option, and a path that does not start with "/". The message names the fix
 * @see https://spec.openapis.org/oas/v3.2.0.html
 *
 * @example
 * import pets from './pets.json'
 * server.use(openApiTools(parseOpenApi(pets), { baseUrl: 'https://api.example/v1', scopes: ['pets'] }))
 */
export function openApiTools(list: readonly Operation[], options: OpenApiToolsOptions): Module {
  checkValue('openApiTools()', 'list', list, [
    (value) => kind.isListOf(value, isOperation),
    'a list such as the result of parseOpenApi(document)',
  ])
  checkOptions('openApiTools()', options, kinds)
  const { baseUrl, headers = {}, prefix = '', scopes, upstream } = options
  if (!isSecureUrl(baseUrl)) {
    throw new Error(
      `openApiTools(): the baseUrl "${baseUrl}" must be an https URL, or http on localhost, as in "https://api.example/v1"`,
    )
  }
  const { host, search, hash, username, password } = new URL(baseUrl)
  if (search || hash || username || password) {
    throw new Error(
      // Not the whole URL, which may contain a key.
      `openApiTools(): the baseUrl on ${host} must have no query, fragment or credentials: send keys by "headers"`,
    )
  }
  const resilience = readResilience('openApiTools()', options)
  const paths = new Paths(list.flatMap(({ path, skippedPaths = [] }) => [path, ...skippedPaths]))
  const received = new ReceivedByPost()
  const api = { baseUrl, resilience, paths, received, guard: new RequestGuard(new URL(baseUrl).host, resilience) }
  const selected = new SelectedTools('openApiTools()', options)
  const unknown = selected.findUnknown(list.map(({ name }) => name))
  if (unknown.length > 0) {
    throw new Error(`openApiTools(): ${unknown.join(', ')}, which no operation has: use the names of the operations`)
  }
  const named = typeof headers === 'function' ? {} : headers
  for (const [name, value] of Object.entries(named)) if (typeof value === 'string') checkHeader(name, value)
  const names = new Set(Object.keys(named).map(headerKey))
  return (server) => {
    for (const declared of list.filter(({ name }) => selected.has(name))) {
      // Anything else would change the host that gets the developer's headers.
      if (!declared.path.startsWith('/')) {
        throw new Error(`openApiTools(): the path "${declared.path}" of "${declared.name}" must start with "/"`)
      }
      if (declared.path.includes('#')) {
        throw new Error(
          `openApiTools(): the path "${declared.path}" of "${declared.name}" must have no "#": nothing after it is sent`,
        )
      }
      refuseLostArguments(declared)
      const operation = withoutHeaders(declared, (name) => isReservedHeader(name) || names.has(headerKey(name)))
      const { name, description, input, annotations } = operation
      const { name: _, outputSchema, ...override } = selected.overrides.get(name) ?? {}
      const definition = {
        description,
        inputSchema: input,
        scopes: typeof scopes === 'function' ? scopes(declared) : scopes,
        ...override,
        annotations: { ...annotations, ...override.annotations },
        ...(outputSchema && { outputSchema }),
      }
      const target = { ...api, isStructured: Boolean(outputSchema) }
      server.tool(nameIn(server.prefix, prefix + selected.nameOf(name)), definition, async (args, ctx) => {
        const token = upstream === undefined ? undefined : new UpstreamToken(ctx, upstream)
        // The input schema is an object schema.
        return callOperation(operation, target, args as Params, await headersFor(headers, ctx), ctx, token)
      })
    }
  }
}

/** Returns the name of a tool for `server.tool()`, which puts the prefix of the server before it. */
const nameIn = (outer: string, name: string): string => shortName(outer + name).slice(outer.length)

/** Removes the arguments of an operation that would set a header which the model must not set. */
function withoutHeaders(operation: Operation, isTaken: (name: string) => boolean): Operation {
  const { parameters, input } = operation
  const taken = new Set(
    Object.entries(parameters)
      .filter(([, { in: place, name }]) => place === 'header' && isTaken(name))
      .map(([argument]) => argument),
  )
  if (taken.size === 0) return operation
  const isKept = ([argument]: readonly [string, unknown]) => !taken.has(argument)
  const { properties, required } = input
  return {
    ...operation,
    parameters: Object.fromEntries(Object.entries(parameters).filter(isKept)),
    input: {
      ...input,
      ...(isObject(properties) && { properties: Object.fromEntries(Object.entries(properties).filter(isKept)) }),
      ...(Array.isArray(required) && { required: required.filter((argument) => !taken.has(argument)) }),
    },
  }
}

/**
 * @returns the headers of the developer; `undefined` for one that this caller does not have, and that the model must not set either
 * @throws TypeError for a value of another type, and for one that HTTP cannot carry. It contains no values, which are credentials
 */
async function headersFor(
  headers: NonNullable<OpenApiToolsOptions['headers']>,
  caller: HeadersContext,
): Promise<[name: string, value: string | undefined][]> {
  const all: unknown = typeof headers === 'function' ? await headers(caller) : headers
  if (all instanceof Headers) return [...all]
  if (!isObject(all) || !isPlain(all)) {
    throw new TypeError(`"headers" of openApiTools() returned ${typeName(all)}: return an object with the headers`)
  }
  return Promise.all(
    Object.entries(all).map(async ([name, header]): Promise<[name: string, value: string | undefined]> => {
      const value: unknown = (typeof header === 'function' ? await header(caller) : header) ?? undefined
      if (typeof value === 'string') checkHeader(name, value)
      if (value === undefined || typeof value === 'string') return [name, value]
      throw new TypeError(`"headers" of openApiTools() returned ${typeName(value)} as "${name}": return a string`)
    }),
  )
}

/** @throws TypeError */
function checkHeader(name: string, value: string): void {
  if (isHeaderValue(value)) return
  // Without the value, which may be a credential.
  throw new TypeError(
    `"headers" of openApiTools() has a value for "${name}" that HTTP cannot carry: return one without line breaks`,
  )
}

function typeName(value: unknown): string {
  if (typeof value !== 'object' || value === null) return value === undefined ? 'undefined' : `a ${typeof value}`
  const name = value.constructor?.name ?? 'object'
  return `${/^[aeiou]/i.test(name) ? 'an' : 'a'} ${name === 'Object' ? 'object' : name}`
}
