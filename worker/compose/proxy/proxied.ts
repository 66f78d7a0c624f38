/** A server elsewhere, as a part of the one that stands before it. */
import type { Asked } from '../../engine/methods/method.ts'
import { McpError } from '../../protocol/errors.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import type { Principal } from '../../protocol/principal.ts'
import type { Params, Result, ServerCapabilities } from '../../protocol/types.ts'
import type { Around } from '../../server/around.ts'
import { under } from '../under.ts'
import { Mirrored } from './mirrored.ts'
import type { ProxyOptions } from './proxy.ts'
import type { Remote, RemoteCall } from './remote.ts'

/** What is passed on. */
export const features = ['tools', 'prompts', 'resources', 'completions'] as const
export type Feature = (typeof features)[number]

/** Its lists: what must be offered, the member with the entries, and what names an entry. */
export const lists = {
  'tools/list': { feature: 'tools', member: 'tools', id: 'name' },
  'prompts/list': { feature: 'prompts', member: 'prompts', id: 'name' },
  'resources/list': { feature: 'resources', member: 'resources', id: 'uri' },
  'resources/templates/list': { feature: 'resources', member: 'resourceTemplates', id: 'uriTemplate' },
} as const satisfies Readonly<Record<string, { feature: Feature; member: string; id: string }>>
export type List = keyof typeof lists

/** Pages of a list that are read. */
const mostPages = 20

export class Proxied {
  readonly prefix: string
  readonly #remote: Remote
  readonly #options: Required<ProxyOptions>
  readonly #mirrored = new Mirrored()
  /** What stands around its calls besides what does around all of the server that it is a part of. */
  readonly around: Around

  constructor(remote: Remote, options: Required<ProxyOptions>, around: Around = (asked, answer) => answer(asked)) {
    this.prefix = options.prefix
    this.around = around
    this.#remote = remote
    this.#options = options
  }

  /** The same server, under longer names. @param outer what stands around the server that it is behind, under those names */
  within(prefix: string, outer: Around): Proxied {
    const inner = under(prefix, this.around)
    const options = { ...this.#options, prefix: prefix + this.prefix }
    return new Proxied(this.#remote, options, (asked, answer) => outer(asked, (next) => inner(next, answer)))
  }

  /** @throws McpError `unavailable` when it does not answer, or what else it says to that */
  capabilities({
    principal,
    signal,
  }: {
    principal: Principal | undefined
    signal: AbortSignal
  }): Promise<ServerCapabilities> {
    return this.#remote.capabilities({
      headers: this.#options.headers(principal),
      capabilities: {},
      signal: this.#signal(signal),
    })
  }

  async offers({ call, context }: Asked, feature: Feature): Promise<boolean> {
    const { principal } = call
    const capabilities = await this.capabilities({ principal, signal: context.signal })
    return capabilities[feature] !== undefined
  }

  /** All entries of a list, under the names that they have here; `undefined` when it offers none. */
  async list(asked: Asked, list: List): Promise<Params[] | undefined> {
    const { feature, member, id } = lists[list]
    if (!(await this.offers(asked, feature))) return undefined
    const found: Params[] = []
    let cursor: unknown
    for (let page = 0; page < mostPages && (page === 0 || cursor !== undefined); page += 1) {
      const result = await this.request(asked, list, cursor === undefined ? {} : { cursor })
      const entries = result[member]
      found.push(...(Array.isArray(entries) ? entries.filter(isObject) : []))
      cursor = result.nextCursor
    }
    if (list === 'tools/list') this.#mirrored.learn(found)
    return id === 'name' ? found.map((entry) => ({ ...entry, name: this.prefix + entry.name })) : found
  }

  /** @param params without `_meta`: of the client's nothing but its trace is passed on */
  async request(asked: Asked, method: string, params: Params): Promise<Result> {
    try {
      return await this.#send(asked, method, params)
    } catch (problem) {
      if (!isMismatch(problem)) throw problem
    }
    // Its list tells what is to be repeated in headers.
    await this.list(asked, 'tools/list')
    return this.#send(asked, method, params).catch((problem) => {
      // Not in the headers of whoever calls here.
      throw isMismatch(problem) ? new McpError('internal_error', problem.message) : problem
    })
  }

  #send({ call, context }: Asked, method: string, params: Params): Promise<Result> {
    const { roots, sampling, elicitation } = call.capabilities
    const { traceparent, tracestate, baggage } = isObject(call.params._meta) ? call.params._meta : {}
    return this.#remote.request({
      method,
      params: { ...params, _meta: { traceparent, tracestate, baggage } },
      mirrored: method === 'tools/call' ? this.#mirrored.headers(params) : {},
      capabilities: { roots, sampling, elicitation } as RemoteCall['capabilities'],
      headers: this.#options.headers(call.principal),
      signal: this.#signal(context.signal),
    })
  }

  #signal(signal: AbortSignal): AbortSignal {
    return AbortSignal.any([signal, AbortSignal.timeout(this.#options.timeout)])
  }
}

const isMismatch = (problem: unknown): problem is McpError =>
  problem instanceof McpError && problem.kind === 'header_mismatch'

/** Neither this server nor one behind it offers the method. */
export const notFound = (method: string): McpError => new McpError('method_not_found', `Method not found: ${method}`)
