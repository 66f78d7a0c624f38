import { isObject } from '../../../protocol/jsonrpc.ts'
import type { Params, Result } from '../../../protocol/types.ts'

/** Schemes whose URIs are names that a server chooses for itself, so that two upstreams may have the same ones. `resultStore()` chooses those of `result`. */
const ownNames = /^(ui|skill|result):\/\//i

/** The end of the URI of a stored result: its id, and its query. */
const storedResult = /[\da-f]{32}(?:\?|$)/

/** The key of an app in the `_meta` of a tool, in earlier versions of the extension. */
const flatKey = 'ui/resourceUri'

/**
 * Puts the prefix of an upstream before the authority of its `ui://`, `skill://` and `result://` URIs: `ui://chart` is `ui://sales_chart` on this server.
 * Other URIs do not change.
 *
 * @see https://modelcontextprotocol.io/seps/1865-mcp-apps-interactive-user-interfaces-for-mcp
 */
export class PrefixedUris {
  readonly #prefix: string

  constructor(prefix: string) {
    this.#prefix = encodeURIComponent(prefix)
  }

  /** Returns the URI, or the template, that clients of this server get. @param uri on the upstream */
  here(uri: string): string {
    const [start] = ownNames.exec(uri) ?? []
    return start ? start + this.#prefix + uri.slice(start.length) : uri
  }

  /** Returns the URI on the upstream; `undefined` for one that belongs to another server. @param uri on this server */
  there(uri: string): string | undefined {
    const [start] = ownNames.exec(uri) ?? []
    if (!start) return uri
    return uri.startsWith(start + this.#prefix) ? start + uri.slice(start.length + this.#prefix.length) : undefined
  }

  /** Whether a URI is that of a result that the upstream stores: the template of this server's own results matches it, too. */
  hasResult(uri: string): boolean {
    return this.#prefix !== '' && /^result:/i.test(uri) && storedResult.test(this.there(uri)?.slice(9) ?? '')
  }

  /** Returns an entry of a list with the URIs of this server. @param id the member with its name or URI */
  entry(entry: Params, id: string): Params {
    if (this.#prefix === '') return entry
    const uri = id === 'name' ? undefined : entry[id]
    return this.#withMeta({ ...entry, ...(typeof uri === 'string' && { [id]: this.here(uri) }) })
  }

  /** Returns the result of an upstream with the URIs of this server. */
  result(result: Result): Result {
    if (this.#prefix === '') return result
    const { content, contents, messages } = result
    return {
      ...this.#withMeta(result),
      ...(Array.isArray(content) && { content: content.map((block) => this.#block(block)) }),
      ...(Array.isArray(contents) && { contents: contents.map((each) => this.#located(each)) }),
      ...(Array.isArray(messages) && { messages: messages.map((message) => this.#message(message)) }),
    }
  }

  #message(message: unknown): unknown {
    return isObject(message) ? { ...message, content: this.#block(message.content) } : message
  }

  /** Changes a link to a resource, and an embedded resource. */
  #block(block: unknown): unknown {
    if (!isObject(block)) return block
    if (block.type === 'resource') return { ...block, resource: this.#located(block.resource) }
    return block.type === 'resource_link' ? this.#located(block) : block
  }

  #located(value: unknown): unknown {
    return isObject(value) && typeof value.uri === 'string'
      ? this.#withMeta({ ...value, uri: this.here(value.uri) })
      : value
  }

  /** Changes the URI of an app in `_meta`. */
  #withMeta<V extends Params>(value: V): V {
    const { _meta: meta } = value
    if (!isObject(meta)) return value
    const { ui, [flatKey]: flat } = meta
    const isApp = isObject(ui) && typeof ui.resourceUri === 'string'
    if (!isApp && typeof flat !== 'string') return value
    return {
      ...value,
      _meta: {
        ...meta,
        ...(isApp && { ui: { ...ui, resourceUri: this.here(String(ui.resourceUri)) } }),
        ...(typeof flat === 'string' && { [flatKey]: this.here(flat) }),
      },
    }
  }
}
