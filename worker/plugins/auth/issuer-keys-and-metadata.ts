/**
 * The published documents of an issuer: its metadata and its keys. They are read from the memory of the isolate, else from the cache of the
 * data center (with `EDGEMCP_KEYS`), else from the issuer. A known document stays in use for some time while the issuer does not respond.
 *
 * @see https://www.rfc-editor.org/rfc/rfc8414 authorization server metadata
 * @see https://openid.net/specs/openid-connect-discovery-1_0.html
 * @see https://www.rfc-editor.org/rfc/rfc7517#section-5 key sets
 */
import type { JSONWebKeySet, JWK } from 'jose'
import { McpError } from '../../protocol/errors.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import type { Params } from '../../protocol/types.ts'
import type { ServerInfo } from '../../request-hooks.ts'
import { DocumentCache } from './data-center-cache.ts'
import { type Fetch, fetchJson, safeUrl } from './fetch-json.ts'

export type IssuerDocument = {
  /** Milliseconds since 1970: when the document was read from the issuer. */
  readonly at: number
  /** As JSON: a parsed document takes up to twenty times as much memory. */
  readonly metadata: string
  readonly keys: JSONWebKeySet
}

/** Milliseconds in which a document is used without a request to the issuer. */
export const freshFor = 10 * 60_000
/** Milliseconds in which a document is used while a newer one is requested. */
const staleWhileRevalidateMs = 60 * 60_000
/** Milliseconds in which a document is used while the issuer does not respond. */
export const staleFor = 24 * 60 * 60_000
/** Milliseconds between two requests because of one unknown key. */
export const minRefreshMs = 30_000
/** Unknown keys that cause a request within `minRefreshMs`: invented ones must neither delay a rotation nor flood the issuer. */
const maxUnknownKeys = 5
/** Milliseconds after a failure in which no request is sent. */
const restAfterFailure = 5_000
/** Milliseconds after which an open request counts as lost. */
const stuckAfterMs = 30_000
/** Keys of an issuer. */
const mostKeys = 100

type Source = {
  readonly issuer: string
  /** URL of the keys; `undefined`: the metadata names it. */
  readonly keysUrl: string | undefined
  /** Whether no keys are read, but their URL. Default: false. */
  readonly isMetadataOnly?: boolean
  readonly fetch: Fetch
}

/** What the documents need of the endpoint. */
type Host = Pick<ServerInfo, 'waitUntil' | 'report' | 'documentSeals'>

/** Characters of the documents of all issuers in this isolate: each tenant may have issuers of its own. */
const maxAllCharacters = 16_000_000

/** The documents of this isolate, the least recently used first. */
const known = new Map<IssuerDocuments, { readonly document: IssuerDocument; readonly characters: number }>()
let allCharacters = 0

/** Keeps the document of an issuer. The least recently used ones are deleted, and read again when they are needed. */
function putDocument(issuer: IssuerDocuments, document: IssuerDocument): void {
  const characters = JSON.stringify(document).length
  deleteDocument(issuer)
  known.set(issuer, { document, characters })
  allCharacters += characters
  for (const other of known.keys()) {
    if (allCharacters <= maxAllCharacters) return
    deleteDocument(other)
  }
}

function deleteDocument(issuer: IssuerDocuments): void {
  allCharacters -= known.get(issuer)?.characters ?? 0
  known.delete(issuer)
}

export class IssuerDocuments {
  /** How often the documents were read from the issuer. */
  reads = 0
  readonly #source: Source
  #loading: { since: number; document: Promise<IssuerDocument> } | undefined
  #failure: { at: number; problem: unknown } | undefined
  /** The unknown keys that caused a request within `minRefreshMs`, oldest first. Tokens that name no key share an entry. */
  readonly #unknownKeys = new Map<string | undefined, number>()

  /** @throws Error when the addresses are not safe */
  constructor(source: Source) {
    this.#source = source
    safeUrl(source.issuer, 'The issuer')
    if (source.keysUrl !== undefined) safeUrl(source.keysUrl, 'The keys URL')
  }

  /** @throws Error when no document is known and the issuer does not respond */
  async current(serverInfo: Host): Promise<IssuerDocument> {
    let document = this.#known
    if (!document) {
      const cached = await this.#cached(serverInfo)
      // It may have been read from the issuer meanwhile.
      document = this.#known ?? cached
      if (document) putDocument(this, document)
    }
    const age = document ? Date.now() - document.at : Number.POSITIVE_INFINITY
    if (document && age < freshFor) return document
    const loading = this.#load(serverInfo)
    // After a failure, requests do not wait for the issuer.
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
   * Returns a newer document, for a key that is not in `document`. Sends few requests, however many tokens have unknown keys.
   *
   * @param kid the name of the key; `undefined` if the token names none
   * @throws McpError `unavailable` when several unknown keys have caused requests: the key may be valid
   * @throws Error when the issuer does not respond: the key may be valid
   */
  async renewed(document: IssuerDocument, kid: string | undefined, serverInfo: Host): Promise<IssuerDocument> {
    if (this.#known && this.#known.at > document.at) return this.#known
    // Another request with that key has already started the request.
    if (this.#isLoading) return this.#load(serverInfo)
    const now = Date.now()
    for (const [key, at] of this.#unknownKeys) if (now - at >= minRefreshMs) this.#unknownKeys.delete(key)
    if (this.#unknownKeys.has(kid)) return document
    const [oldest = now] = this.#unknownKeys.values()
    if (this.#unknownKeys.size === maxUnknownKeys) throw tooManyUnknownKeys(oldest + minRefreshMs - now)
    this.#unknownKeys.set(kid, now)
    try {
      return await this.#load(serverInfo)
    } catch (problem) {
      // The failure delays the next request, not `minRefreshMs`.
      this.#unknownKeys.delete(kid)
      throw problem
    }
  }

  /** Reads the documents, once at a time. A failure is reported once, and no request is sent for a while. */
  #load(serverInfo: Host): Promise<IssuerDocument> {
    if (this.#loading && this.#isLoading) return this.#loading.document
    if (this.#failure && Date.now() - this.#failure.at < restAfterFailure) return Promise.reject(this.#failure.problem)
    const loading = this.#read().then(
      (document) => {
        putDocument(this, document)
        this.reads += 1
        this.#failure = undefined
        this.#loading = undefined
        serverInfo.waitUntil(this.#writeToCache(document, serverInfo))
        return document
      },
      (problem: unknown) => {
        this.#failure = { at: Date.now(), problem }
        this.#loading = undefined
        serverInfo.report(problem)
        throw problem
      },
    )
    this.#loading = { since: Date.now(), document: loading }
    // Other requests wait for it, even if the first client disconnects.
    serverInfo.waitUntil(loading.catch(() => {}))
    return loading
  }

  get #known(): IssuerDocument | undefined {
    const entry = known.get(this)
    if (!entry) return undefined
    known.delete(this)
    known.set(this, entry)
    return entry.document
  }

  get #isLoading(): boolean {
    return this.#loading !== undefined && Date.now() - this.#loading.since < stuckAfterMs
  }

  async #read(): Promise<IssuerDocument> {
    const { issuer, keysUrl, isMetadataOnly = false, fetch } = this.#source
    const metadata = keysUrl === undefined ? await this.#discover() : { issuer, jwks_uri: keysUrl }
    const where = metadata.jwks_uri
    if (typeof where !== 'string') {
      throw new Error(`The metadata of ${issuer} has no jwks_uri: give bearer() the keys, or enterprise its jwksUri`)
    }
    const url = safeUrl(where, 'The jwks_uri', issuer)
    const { keys } = isMetadataOnly ? { keys: [] } : await fetchJson(fetch, url)
    if (!Array.isArray(keys)) throw new Error(`${where} has no list "keys"`)
    const usable = keys.slice(0, mostKeys).filter(isPublic).map(usedOf)
    return { at: Date.now(), metadata: JSON.stringify(metadata), keys: { keys: usable } }
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
      throw new Error(
        `${place} belongs to the issuer ${JSON.stringify(metadata.issuer)}, not to ${JSON.stringify(issuer)}`,
      )
    }
    throw new AggregateError(problems, `The issuer ${issuer} has no metadata: ${problems.join('; ')}`)
  }

  // A failure of the cache delays a request, and has no other effect.

  async #cached(serverInfo: Host): Promise<IssuerDocument | undefined> {
    try {
      // What `#writeToCache` wrote.
      return (await cacheOf(serverInfo)?.read(this.#cacheName)) as IssuerDocument | undefined
    } catch (problem) {
      serverInfo.report(problem)
      return undefined
    }
  }

  async #writeToCache(document: IssuerDocument, serverInfo: Host): Promise<void> {
    try {
      await cacheOf(serverInfo)?.write(this.#cacheName, document, staleFor)
    } catch (problem) {
      serverInfo.report(problem)
    }
  }

  get #cacheName(): string {
    const { issuer, keysUrl = '', isMetadataOnly } = this.#source
    return `${encodeURIComponent(issuer)}/${isMetadataOnly ? 'metadata' : encodeURIComponent(keysUrl)}`
  }
}

/** The cache of the data center; `undefined` without `EDGEMCP_KEYS`. */
function cacheOf(serverInfo: Host): DocumentCache | undefined {
  const seals = serverInfo.documentSeals?.()
  return seals && new DocumentCache(seals)
}

/** Members of a key that verify a signature: texts. */
const usedMembers = ['kty', 'kid', 'alg', 'use', 'crv', 'x', 'y', 'n', 'e'] as const

/** Whether a key can verify signatures: secrets and private keys must not be published. RFC 7517, section 4. */
const isPublic = (key: unknown): key is JWK => {
  if (!isObject(key)) return false
  const { kty, d, use, key_ops: operations } = key
  const isForVerifying = operations === undefined || (Array.isArray(operations) && operations.includes('verify'))
  const isWellFormed = usedMembers.every((name) => key[name] === undefined || typeof key[name] === 'string')
  return isForVerifying && isWellFormed && kty !== 'oct' && d === undefined && (use === undefined || use === 'sig')
}

const usedOf = (key: JWK): JWK =>
  Object.fromEntries(usedMembers.flatMap((name) => (key[name] === undefined ? [] : [[name, key[name]]])))

const tooManyUnknownKeys = (retryMs: number): McpError => {
  const seconds = String(Math.ceil(retryMs / 1000))
  const message = `Too many tokens name keys that their issuer does not publish: try again in ${seconds} s`
  return new McpError('unavailable', message, undefined, { 'Retry-After': seconds })
}
