/**
 * What an issuer publishes: its metadata and its keys. Read from this isolate's memory, else from the data centre's cache
 * if the server has `EDGEMCP_KEYS`, else from the issuer; what is known goes on being used for a while when the issuer does not answer.
 *
 * @see https://www.rfc-editor.org/rfc/rfc8414 authorization server metadata
 * @see https://openid.net/specs/openid-connect-discovery-1_0.html
 * @see https://www.rfc-editor.org/rfc/rfc7517#section-5 key sets
 */
import type { JSONWebKeySet, JWK } from 'jose'
import { isObject } from '../../protocol/jsonrpc.ts'
import type { Params } from '../../protocol/types.ts'
import type { ServerInfo } from '../../request-hooks.ts'
import { DocumentCache } from './data-center-cache.ts'
import { type Fetch, fetchJson, safeUrl } from './fetch-json.ts'

export type IssuerDocument = {
  /** Milliseconds: when it was read from the issuer. */
  readonly at: number
  readonly metadata: Readonly<Params>
  readonly keys: JSONWebKeySet
}

/** Milliseconds for which a document is used without asking again. */
export const freshFor = 10 * 60_000
/** Milliseconds until when it is used while it is asked for again. */
const staleWhileRevalidateMs = 60 * 60_000
/** Milliseconds until when it is used because the issuer does not answer. */
export const staleFor = 24 * 60 * 60_000
/** Milliseconds between two times that a key nobody knows sends for new ones. */
export const minRefreshMs = 30_000
/** Milliseconds until an issuer that did not answer is asked again. */
const restAfterFailure = 5_000
/** Milliseconds after which a question that has not even failed is asked again. */
const stuckAfterMs = 30_000
/** Keys of an issuer. */
const mostKeys = 100

type Source = {
  readonly issuer: string
  /** Where the keys are; `undefined`: its metadata says so. */
  readonly keysUrl: string | undefined
  readonly fetch: Fetch
}

export class IssuerDocuments {
  readonly #source: Source
  #known: IssuerDocument | undefined
  #loading: { since: number; document: Promise<IssuerDocument> } | undefined
  #failure: { at: number; problem: unknown } | undefined
  #forcedAt = Number.NEGATIVE_INFINITY

  /** @throws Error when the addresses are not safe */
  constructor(source: Source) {
    this.#source = source
    safeUrl(source.issuer, 'The issuer')
    if (source.keysUrl !== undefined) safeUrl(source.keysUrl, 'The address of the keys')
  }

  /** @throws Error when nothing is known and the issuer does not answer */
  async current(serverInfo: ServerInfo): Promise<IssuerDocument> {
    const cached = this.#known ?? (await this.#cached(serverInfo))
    // It may have been read from the issuer meanwhile.
    this.#known ??= cached
    const document = this.#known
    const age = document ? Date.now() - document.at : Number.POSITIVE_INFINITY
    if (document && age < freshFor) return document
    const loading = this.#load(serverInfo)
    // Whoever has been waited for in vain is not waited for again.
    if (document && age < (this.#failure ? staleFor : staleWhileRevalidateMs)) {
      loading.catch(() => {})
      return document
    }
    try {
      return await loading
    } catch (problem) {
      if (document && age < staleFor) return document
      throw problem
    }
  }

  /**
   * What the issuer says now, for a key that is not in the document; rarely asked, however many such keys come.
   *
   * @throws Error when it does not answer: the key may be good
   */
  async renewed(document: IssuerDocument, serverInfo: ServerInfo): Promise<IssuerDocument> {
    if (this.#known && this.#known.at > document.at) return this.#known
    // It is being asked for already, for whoever came first with that key.
    if (this.#isLoading) return this.#load(serverInfo)
    if (Date.now() - Math.max(this.#forcedAt, document.at) < minRefreshMs) return document
    const loading = this.#load(serverInfo)
    if (this.#isLoading) this.#forcedAt = Date.now()
    return loading
  }

  /** Once at a time. What fails is reported, once, and left alone for a while. */
  #load(serverInfo: ServerInfo): Promise<IssuerDocument> {
    if (this.#loading && this.#isLoading) return this.#loading.document
    if (this.#failure && Date.now() - this.#failure.at < restAfterFailure) return Promise.reject(this.#failure.problem)
    const loading = this.#read().then(
      (document) => {
        this.#known = document
        this.#failure = undefined
        this.#loading = undefined
        serverInfo.waitUntil(this.#writeToCache(document, serverInfo))
        return document
      },
      (problem: unknown) => {
        this.#failure = { at: Date.now(), problem }
        this.#loading = undefined
        // Asking again is put off by the failure, not by the cool-down.
        this.#forcedAt = Number.NEGATIVE_INFINITY
        serverInfo.report(problem)
        throw problem
      },
    )
    this.#loading = { since: Date.now(), document: loading }
    // Others wait for it, even when whoever asked first has gone.
    serverInfo.waitUntil(loading.catch(() => {}))
    return loading
  }

  get #isLoading(): boolean {
    return this.#loading !== undefined && Date.now() - this.#loading.since < stuckAfterMs
  }

  async #read(): Promise<IssuerDocument> {
    const { issuer, keysUrl } = this.#source
    const metadata = keysUrl === undefined ? await this.#discover() : { issuer, jwks_uri: keysUrl }
    const where = metadata.jwks_uri
    if (typeof where !== 'string') throw new Error(`The metadata of ${issuer} names no jwks_uri`)
    const { keys } = await fetchJson(this.#source.fetch, safeUrl(where, 'The jwks_uri', issuer))
    if (!Array.isArray(keys)) throw new Error(`There are no keys at ${where}`)
    const usable = keys.slice(0, mostKeys).filter(isPublic)
    return { at: Date.now(), metadata, keys: { keys: usable } }
  }

  async #discover(): Promise<Readonly<Params>> {
    const { issuer } = this.#source
    const { origin, pathname } = new URL(issuer)
    const path = pathname.replace(/\/$/, '')
    const places = [
      `${origin}/.well-known/oauth-authorization-server${path}`,
      `${origin}${path}/.well-known/openid-configuration`,
      ...(path ? [`${origin}/.well-known/openid-configuration${path}`] : []),
    ]
    const problems: unknown[] = []
    for (const place of places) {
      const metadata = await fetchJson(this.#source.fetch, place).catch((problem) => void problems.push(problem))
      if (!metadata) continue
      if (metadata.issuer === issuer) return metadata
      throw new Error(`${place} is of the issuer ${JSON.stringify(metadata.issuer)}, not of ${JSON.stringify(issuer)}`)
    }
    throw new AggregateError(problems, `The issuer ${issuer} has no metadata: ${problems.join('; ')}`)
  }

  // A failing cache delays a request and decides nothing.

  async #cached(serverInfo: ServerInfo): Promise<IssuerDocument | undefined> {
    try {
      const document = await cacheOf(serverInfo)?.read(this.#cacheName)
      return isDocument(document) ? document : undefined
    } catch (problem) {
      serverInfo.report(problem)
      return undefined
    }
  }

  async #writeToCache(document: IssuerDocument, serverInfo: ServerInfo): Promise<void> {
    try {
      await cacheOf(serverInfo)?.write(this.#cacheName, document, staleFor)
    } catch (problem) {
      serverInfo.report(problem)
    }
  }

  get #cacheName(): string {
    const { issuer, keysUrl = '' } = this.#source
    return `${encodeURIComponent(issuer)}/${encodeURIComponent(keysUrl)}`
  }
}

/** The cache of the data centre; `undefined` without `EDGEMCP_KEYS`. */
function cacheOf(serverInfo: ServerInfo): DocumentCache | undefined {
  const seals = serverInfo.documentSeals?.()
  return seals && new DocumentCache(seals)
}

/** An earlier release may have written another form. */
function isDocument(value: unknown): value is IssuerDocument {
  if (!isObject(value)) return false
  const { at, metadata, keys } = value
  const hasKeys = isObject(keys) && Array.isArray(keys.keys)
  return typeof at === 'number' && at <= Date.now() && typeof metadata === 'object' && hasKeys
}

/** What a signature may be checked with: secrets and private keys are not for everyone to read. */
const isPublic = (key: unknown): key is JWK => {
  if (!isObject(key)) return false
  const { kty, d, use } = key
  return kty !== 'oct' && d === undefined && (use === undefined || use === 'sig')
}
