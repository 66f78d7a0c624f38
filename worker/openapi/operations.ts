import type { Principal } from '../protocol/principal.ts'
import type { Params } from '../protocol/types.ts'
import type { Context } from '../server/context.ts'
import type { Module } from '../server/server.ts'
import type { Operation } from './operation.ts'

export type OperationsOptions = {
  /** The address of the API, to which paths are added. */
  base: string
  /** Sent with each request, such as credentials. A caller's own token is not passed on. */
  headers?: (principal: Principal | undefined) => Readonly<Record<string, string>>
  /** Goes before the names of its tools. Default: nothing. */
  prefix?: string
}

/** Characters of an error's body that are told. */
const longestError = 1000

/**
 * Operations of an HTTP API as tools. The server needs the checker for plain JSON Schemas, of `edgemcp/json-schema`.
 *
 * @param list of `operationsOf`, or written by `npx edgemcp openapi`
 * @example
 * import pets from './pets.json'
 * server.use(operations(operationsOf(pets), { base: 'https://api.example/v1' }))
 */
export const operations =
  (list: readonly Operation[], { base, headers = () => ({}), prefix = '' }: OperationsOptions): Module =>
  (server) => {
    for (const operation of list) {
      const { name, description, input, annotations } = operation
      server.tool(prefix + name, { description, input, annotations }, (args, ctx) =>
        call(operation, base, args as Params, headers(ctx.principal), ctx),
      )
    }
  }

async function call(
  { method, path, parameters, hasBody }: Operation,
  base: string,
  args: Params,
  headers: Readonly<Record<string, string>>,
  ctx: Context,
) {
  const url = new URL(base.replace(/\/$/, '') + path.replace(/\{([^}]+)\}/g, (_, name) => inPath(name)))
  const sent = new Headers({ Accept: 'application/json', ...headers })
  for (const [argument, { in: place, name }] of Object.entries(parameters)) {
    const values = [args[argument] ?? []].flat()
    if (place === 'query') for (const value of values) url.searchParams.append(name, textOf(value))
    if (place === 'header' && values.length > 0) sent.set(name, values.map(textOf).join(', '))
  }
  if (hasBody && args.body !== undefined) sent.set('Content-Type', 'application/json')
  const body = hasBody && args.body !== undefined ? JSON.stringify(args.body) : null
  const response = await fetch(url, { method, headers: sent, body, signal: ctx.signal }).catch((problem) => {
    ctx.signal.throwIfAborted()
    throw new Error(`${url.host} does not answer`, { cause: problem })
  })
  const text = await response.text()
  if (response.ok) return { content: [{ type: 'text' as const, text: text || `HTTP ${response.status}` }] }
  const told = `${method} ${url.pathname}: HTTP ${response.status}. ${text.slice(0, longestError)}`.trim()
  return { content: [{ type: 'text' as const, text: told }], isError: true }

  function inPath(name: string): string {
    const argument = Object.entries(parameters).find(([, place]) => place.in === 'path' && place.name === name)?.[0]
    const text = textOf(args[argument ?? name])
    // Encoded or not, it would be another path.
    if (/^\.{0,2}$/.test(text)) throw new Error(`"${text}" cannot be a part of the path ${path}`)
    return encodeURIComponent(text)
  }
}

const textOf = (value: unknown): string => (typeof value === 'object' ? JSON.stringify(value) : String(value))
