/** An upstream as a part of this server: its lists, names, scopes and requests. */

import type { Received } from '../../../client/received.ts'
import { checkToolName } from '../../../declarations/check-declarations.ts'
import type { Declarations } from '../../../declarations/declarations.ts'
import type { ForwardedEntry } from '../../../declarations/forwarded.ts'
import type { Interceptor } from '../../../declarations/interceptor.ts'
import { refuseRounded } from '../../../declarations/refuse-rounded.ts'
import type { SelectedTools } from '../../../declarations/tool-selection.ts'
import type { HeadersContext } from '../../../declarations/upstream-options.ts'
import type { MethodContext } from '../../../engine/methods/method.ts'
import { BoundedMap } from '../../../protocol/bounded-map.ts'
import { McpError } from '../../../protocol/errors.ts'
import { isObject } from '../../../protocol/jsonrpc.ts'
import type { Params, Result } from '../../../protocol/types.ts'
import { withPrefix } from '../prefixed-interceptors.ts'
import { type AnnouncedList, announceChange } from './announce-change.ts'
import type { ListMember } from './check-entries.ts'
import { withTimeout } from './deadlines.ts'
import { ForwardedAccess } from './forwarded-access.ts'
import { ListChanges } from './list-changes.ts'
import { Listed, ListedIds, maxKeyCharacters } from './listed-ids.ts'
import type { Feature, Offered } from './offered.ts'
import { ProxiedTools } from './proxied-tools.ts'
import type { ProxyOptions } from './proxy-options.ts'
import { maxEntries, mostPages, readPages } from './read-pages.ts'
import type { Remote } from './remote.ts'
import type { Listener } from './send-request.ts'
import { isOfOneCall, postOf, UpstreamCallers } from './upstream-callers.ts'
import { TokenRefused } from './upstream-errors.ts'
import { isTimeout } from './upstream-http.ts'
import { headersKey } from './upstream-sessions.ts'

/** Lists that are forwarded: the kind of their entries, the capability that they need, and the members with the entries and their names. */
export const lists = {
  'tools/list': { kind: 'tool', feature: 'tools', member: 'tools', id: 'name' },
  'prompts/list': { kind: 'prompt', feature: 'prompts', member: 'prompts', id: 'name' },
  'resources/list': { kind: 'resource', feature: 'resources', member: 'resources', id: 'uri' },
  'resources/templates/list': {
    kind: 'resource',
    feature: 'resources',
    member: 'resourceTemplates',
    id: 'uriTemplate',
  },
} as const satisfies Readonly<
  Record<string, { kind: ForwardedEntry['kind']; feature: Feature; member: ListMember; id: string }>
>
export type List = keyof typeof lists

/** Milliseconds for which lists omit an upstream that did not respond in time. */
const hungMs = 30_000

export type ProxiedOptions = Required<Pick<ProxyOptions, 'prefix' | 'headers' | 'sharedSessions'>> &
  Pick<ProxyOptions, 'scopes' | 'upstream'> & {
    readonly selected: SelectedTools
    readonly timeoutMs: number
    readonly listTimeoutMs: number
    readonly listMaxAgeMs: number
  }

/** A list that one call of a POST reads, in this round. */
type SharedList = {
  readonly roundEnded: MethodContext['roundEnded']
  readonly readMs: number
  readonly reading: Promise<{ readonly entries: readonly Params[] | undefined; readonly listed: Listed }>
}

/** The signal of a request, who receives its notifications, and what counts the bytes and the values of its response. */
type RequestTerms = { readonly signal: AbortSignal; readonly listener?: Listener; readonly received?: Received }

export class Proxied {
  readonly prefix: string
  readonly #remote: Remote
  readonly #options: ProxiedOptions
  readonly #tools: ProxiedTools
  readonly #changes = new ListChanges()
  readonly #listed = new ListedIds()
  /** The lists that the calls of a POST have read, by key, also those that are too long to be stored for other calls. */
  readonly #readByPosts = new WeakMap<object, Map<string, SharedList>>()
  /** POSTs for which the list of tools was read again, because the upstream refused the headers of a call. */
  readonly #mismatched = new WeakSet<object>()
  /** The lists of which a part is left out, once it was reported. */
  readonly #cut = new Set<List>()
  /** Who may use its entries. */
  readonly access: ForwardedAccess
  /** Until when lists omit the upstream, by the caller to whom it did not respond in time: see `#callerKey`. */
  readonly #hungUntilMs = new BoundedMap<string, number>({ maxEntries: 1000, maxKeyCharacters })
  readonly #callers: UpstreamCallers
  /** Interceptors of the mounted server that has this proxy. They wrap the calls of this upstream. */
  readonly interceptors: readonly Interceptor[]

  constructor(remote: Remote, options: ProxiedOptions, interceptors: readonly Interceptor[] = []) {
    checkNames(options, `the proxy of "${remote.url}"`)
    this.prefix = options.prefix
    this.interceptors = interceptors
    this.#remote = remote
    this.#options = options
    this.#tools = new ProxiedTools(options.selected)
    this.access = new ForwardedAccess(`the proxy of "${remote.url}"`, options)
    this.#callers = new UpstreamCallers(this.access.what, options)
  }

  /** Returns the same upstream under longer names. @param outer the interceptors of the server that mounts it, under those names */
  withPrefix(prefix: string, outer: readonly Interceptor[]): Proxied {
    const options = { ...this.#options, prefix: prefix + this.prefix }
    return new Proxied(this.#remote, options, [...outer, ...withPrefix(prefix, this.interceptors)])
  }

  /** Whether every caller may use what the upstream gives to everyone: no scopes here, and no headers for the upstream. */
  async isOpen(context: MethodContext, kind: ForwardedEntry['kind'], name: string): Promise<boolean> {
    if (this.#options.upstream !== undefined) return false
    const headers = await this.#callers.headers(context, this.timed(context))
    return Object.keys(headers).length === 0 && this.access.accessOf({ kind, name })?.scopes?.length === 0
  }

  /** @throws McpError `unavailable` when the upstream does not respond, or the error of its response */
  async offered(reader: HeadersContext, declarations: Declarations): Promise<Offered> {
    const signal = withTimeout(reader.signal, this.#options.timeoutMs)
    const caller = await this.#callers.starting(reader, signal, declarations)
    return this.#remote.offered(caller).finally(() => isOfOneCall(caller) && this.#remote.end(caller.sessionKey))
  }

  async offers(context: MethodContext, feature: Feature, signal = this.timed(context)): Promise<boolean> {
    const offered = await this.#remote.offered(await this.#callers.of(context, signal))
    return offered.has(feature)
  }

  /** Gets the token of the user for the rest of this round: see `UpstreamCallers.connect`. */
  connect(context: MethodContext, signal: AbortSignal, problem?: TokenRefused): Promise<void> {
    return this.#callers.connect(context, signal, problem)
  }

  /** Returns what the upstream has sent to the POST of a call, without lists. */
  receivedOf(context: MethodContext): Received {
    return this.#callers.receivedOf(context)
  }

  /** Ends the upstream session of a call that has one of its own. Called when the call has ended. */
  end({ environment }: MethodContext): void {
    const key = this.#callers.keyOfCall(environment)
    if (key !== undefined) this.#remote.end(key)
  }

  /**
   * Returns the names or URIs of a list, under which this server has the entries; none if the upstream does not offer the list.
   *
   * @param sinceMs the time at which the list was read, or a later one. Default: the option `listMaxAge` ago
   */
  async ids(context: MethodContext, list: List, sinceMs = Date.now() - this.#options.listMaxAgeMs): Promise<Listed> {
    const key = await this.#listKey(context, list, this.#listSignal(context))
    const known = this.#listed.get(key, lists[list].feature, sinceMs)
    return known ?? (await this.#readShared(context, list, sinceMs)).listed
  }

  /** Forgets what was read of a list, for all callers, and notifies the subscribers of this server. */
  expireList(context: MethodContext, list: AnnouncedList): void {
    this.#listed.expire(list, Date.now())
    announceChange(context, list)
  }

  /** Returns all entries of a list, under their names on this server; `undefined` if the upstream does not offer the list. */
  async list(context: MethodContext, list: List): Promise<Params[] | undefined> {
    const { entries } = await this.#readShared(context, list, Number.POSITIVE_INFINITY)
    // Interceptors may change an entry.
    return entries?.map((entry) => ({ ...entry }))
  }

  /**
   * Reads a list. The calls of a batch get what the first of them has read: a short batch could have a long list read many times.
   *
   * @param sinceMs within a round, a list that was read earlier is read again
   */
  async #readShared(context: MethodContext, list: List, sinceMs: number): SharedList['reading'] {
    const { roundEnded } = context
    const post = postOf(context)
    const key = await this.#listKey(context, list, this.#listSignal(context))
    const read = this.#readByPosts.get(post) ?? new Map<string, SharedList>()
    this.#readByPosts.set(post, read)
    const earlier = read.get(key)
    if (!earlier || (earlier.roundEnded === roundEnded && earlier.readMs < sinceMs)) {
      const readMs = Date.now()
      const reading = this.#read(context, list).then(
        (entries) => ({ entries, listed: new Listed(idsOf(list, entries), readMs) }),
        (problem) => {
          if (context.context.signal.aborted) read.delete(key)
          throw problem
        },
      )
      read.set(key, { roundEnded, readMs, reading })
      return reading
    }
    try {
      return await earlier.reading
    } catch (problem) {
      if (read.get(key) === earlier) throw problem
      return this.#readShared(context, list, sinceMs)
    }
  }

  async #read(context: MethodContext, list: List): Promise<Params[] | undefined> {
    const signal = this.#listSignal(context)
    const key = await this.#callerKey(context, signal)
    if (Date.now() < (this.#hungUntilMs.get(key) ?? 0)) throw this.#remote.noAnswer('timed out recently')
    try {
      return await this.#list(context, list, signal).catch(async (problem) => {
        if (!(problem instanceof TokenRefused)) throw problem
        await this.#callers.replaceToken(context, signal, problem)
        return this.#list(context, list, signal)
      })
    } finally {
      if (isTimeout(signal) && !context.context.signal.aborted) this.#hungUntilMs.set(key, Date.now() + hungMs)
    }
  }

  async #list(context: MethodContext, list: List, signal: AbortSignal): Promise<Params[] | undefined> {
    const { feature, member, id } = lists[list]
    const readMs = Date.now()
    const listKey = await this.#listKey(context, list, signal)
    if (!(await this.offers(context, feature, signal))) {
      this.#listed.set(listKey, new Listed([], readMs))
      return undefined
    }
    const { entries, invalid, isComplete, isFull, hasMorePages } = await readPages(
      member,
      (cursor, received) => this.#page(context, list, cursor, { signal, received }),
      (problem) => context.environment.report(problem),
    )
    if ((isFull || hasMorePages) && !this.#cut.has(list)) {
      this.#cut.add(list)
      context.environment.report(this.#remote.longList(list, mostPages, maxEntries[member]))
    }
    if (isComplete && !hasMorePages) await this.#announceChange(context, list, entries, signal)
    for (const entry of entries) delete entry.execution // tasks are not forwarded
    const problems =
      list === 'tools/list' && !isFull && !hasMorePages ? this.#tools.problemsWith(entries, this.access.what) : []
    for (const problem of problems) context.environment.report(problem)
    const headers = await this.#callers.headers(context, signal)
    const read =
      list === 'tools/list' ? this.#tools.read(headers, entries, this.prefix) : { tools: entries, invalid: [] }
    invalid.push(...read.invalid)
    if (invalid.length > 0) context.environment.report(this.#remote.invalidEntries(list, invalid))
    const entriesHere = read.tools.map((entry) => this.access.uris.entry(entry, id))
    const named =
      list === 'prompts/list' ? entriesHere.map((entry) => ({ ...entry, name: this.prefix + entry.name })) : entriesHere
    if (isComplete) this.#listed.set(listKey, new Listed(idsOf(list, named), readMs))
    return named
  }

  async #listKey(context: MethodContext, list: List, signal: AbortSignal): Promise<string> {
    return `${list} ${await this.#callerKey(context, signal)}`
  }

  /** Returns a key for what lists depend on: nothing else about their caller is sent to the upstream. */
  async #callerKey(context: MethodContext, signal: AbortSignal): Promise<string> {
    const caller = await this.#callers.of(context, signal)
    const { sessionKey, headers, capabilities } = caller
    return JSON.stringify([isOfOneCall(caller) ? '' : sessionKey, headersKey(headers), capabilities])
  }

  #listSignal({ context }: MethodContext): AbortSignal {
    const { timeoutMs, listTimeoutMs } = this.#options
    return withTimeout(context.signal, Math.min(timeoutMs, listTimeoutMs))
  }

  /** Notifies the subscribers of this server when a list differs from the one that this isolate has read before. */
  async #announceChange(
    context: MethodContext,
    list: List,
    entries: readonly Params[],
    signal: AbortSignal,
  ): Promise<void> {
    if (!context.environment.updates) return
    const { issuer, tenant } = context.call.principal ?? {}
    const key = JSON.stringify([list, headersKey(await this.#callers.headers(context, signal)), issuer, tenant])
    if (this.#changes.hasChanged(key, entries, Date.now())) announceChange(context, lists[list].feature)
  }

  /**
   * Returns the result of a call. Structured content that is `null` is left out, unless the output schema of the tool can describe it. Older
   * clients get the structured content that fits the schema of their list, which is read unless it is known for this caller.
   *
   * @param name on the upstream
   */
  async finish(context: MethodContext, name: string, result: Result): Promise<Result> {
    const { revision, params, clientParams = params } = context.call
    const { structuredContent, ...others } = result
    const isNull = structuredContent === null
    if (!isNull && (revision.stateless || !isObject(structuredContent))) return result
    const headers = await this.#callers.headers(context, this.timed(context))
    if (!this.#tools.isKnown(headers, name))
      await this.list(context, 'tools/list').catch((problem) => context.environment.report(problem))
    const schema = this.#tools.outputSchemaOf(headers, name)
    this.access.setOutputSchema(clientParams, schema)
    return isNull && schema?.type === 'object' ? others : result
  }

  /** Returns the spelling of a URI that the upstream lists, if the client has written the URI differently from its canonical spelling. */
  async spellingOf(context: MethodContext, canonical: string, given: string): Promise<string> {
    if (given === canonical) return canonical
    const nowMs = Date.now()
    for (const sinceMs of [undefined, nowMs]) {
      // An upstream that does not respond is still asked for the resource, and the client gets that error.
      const listed = await this.ids(context, 'resources/list', sinceMs).catch(() => undefined)
      const [first, ...others] = listed?.spellings.get(canonical) ?? []
      if (first !== undefined) return others.find((uri) => uri === given) ?? first
    }
    return canonical
  }

  /** @throws McpError `unavailable` when the result contains no list */
  async #page(context: MethodContext, list: List, cursor: string | undefined, terms: RequestTerms): Promise<Params> {
    const result = await this.request(context, list, cursor === undefined ? {} : { cursor }, terms)
    const { member } = lists[list]
    if (result[member] !== undefined && !Array.isArray(result[member])) {
      throw this.#remote.invalidResult(list, `the member "${member}" must be a list`)
    }
    return result
  }

  get url(): string {
    return this.#remote.url
  }

  get host(): string {
    return this.#remote.host
  }

  /** Returns the name that a logger of the upstream has on this server. */
  loggerOf(logger: unknown): string {
    return this.prefix + (typeof logger === 'string' && logger !== '' ? logger : this.host)
  }

  /** @param params without `_meta`: only the trace of the client is forwarded */
  async request(context: MethodContext, method: string, params: Params, terms: RequestTerms): Promise<Result> {
    try {
      return await this.#send(context, method, params, terms)
    } catch (problem) {
      if (!isMismatch(problem)) throw problem
      const post = postOf(context)
      // Only calls repeat arguments in headers, and the list is a request, too. Another list for the same POST would be the same.
      if (method !== 'tools/call' || this.#mismatched.has(post)) throw new McpError('internal_error', problem.message)
      this.#mismatched.add(post)
    }
    // The list states which arguments are repeated in headers.
    await this.list(context, 'tools/list')
    return this.#send(context, method, params, terms).catch((problem) => {
      // Not with the headers of the caller.
      throw isMismatch(problem) ? new McpError('internal_error', problem.message) : problem
    })
  }

  async #send(
    context: MethodContext,
    method: string,
    params: Params,
    { signal, ...terms }: RequestTerms,
  ): Promise<Result> {
    const { traceparent, tracestate, baggage } = isObject(context.call.params._meta) ? context.call.params._meta : {}
    const caller = await this.#callers.of(context, signal)
    const isCall = method === 'tools/call'
    if (isCall) refuseRounded(params.arguments)
    const sending = isCall ? this.#tools.sending(caller.headers, params) : { isSafeToRetry: true, mirrored: {} }
    if (!sending) throw unknownTool(String(context.call.params.name))
    return this.#remote.request({
      ...caller,
      method,
      params: { ...params, _meta: { traceparent, tracestate, baggage } },
      ...sending,
      ...terms,
    })
  }

  /** Returns the signal of the call, which is also aborted when the upstream has taken too long. */
  timed({ context }: MethodContext): AbortSignal {
    return withTimeout(context.signal, this.#options.timeoutMs)
  }
}

/** @throws Error for names that clients do not accept, which the prefixes of servers that mount a proxy can make */
function checkNames({ prefix, selected }: ProxiedOptions, what: string): void {
  if (!/^[\w.-]{0,127}$/.test(prefix)) {
    throw new Error(`The prefix "${prefix}" of ${what} must be at most 127 letters, digits, "_", "." or "-"`)
  }
  for (const { name } of selected.overrides.values()) if (name !== undefined) checkToolName(prefix + name)
}

const idsOf = (list: List, entries: readonly Params[] = []): string[] =>
  entries.map((entry) => String(entry[lists[list].id]))

const isMismatch = (problem: unknown): problem is McpError =>
  problem instanceof McpError && problem.kind === 'header_mismatch'

const unknownTool = (name: string) => new McpError('invalid_params', `Unknown tool: ${name}`)

/** The error if neither this server nor an upstream offers the method. */
export const notFound = (method: string): McpError => new McpError('method_not_found', `Method not found: ${method}`)
