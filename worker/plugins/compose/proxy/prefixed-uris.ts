import { isObject } from '../../../protocol/jsonrpc.ts'
import type { Params, Result } from '../../../protocol/types.ts'
import { withMembers } from './mend-values.ts'

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
    return withMembers(entry, {
      _meta: this.#meta(entry._meta),
      ...(typeof uri === 'string' && { [id]: this.here(uri) }),
    })
  }

  /** Returns the result of an upstream with the URIs of this server. */
  result(result: Result): Result {
    if (this.#prefix === '') return result
    const { _meta, content, contents, messages } = result
    return withMembers(result, {
      _meta: this.#meta(_meta),
      content: mapItems(content, (block) => this.#block(block)),
      contents: mapItems(contents, (value) => this.#located(value)),
      messages: mapItems(messages, (message) => this.#message(message)),
    })
  }

  #message(message: unknown): unknown {
    return isObject(message) ? withMembers(message, { content: this.#block(message.content) }) : message
  }

  /** Changes a link to a resource, and an embedded resource. */
  #block(block: unknown): unknown {
    if (!isObject(block)) return block
    if (block.type === 'resource') return withMembers(block, { resource: this.#located(block.resource) })
    return block.type === 'resource_link' ? this.#located(block) : block
  }

  #located(value: unknown): unknown {
    return isObject(value) && typeof value.uri === 'string'
      ? withMembers(value, { uri: this.here(value.uri), _meta: this.#meta(value._meta) })
      : value
  }

  /** Changes the URI of an app. */
  #meta(meta: unknown): unknown {
    if (!isObject(meta)) return meta
    const { ui, [flatKey]: flat } = meta
    return withMembers(meta, {
      ui:
        isObject(ui) && typeof ui.resourceUri === 'string'
          ? withMembers(ui, { resourceUri: this.here(ui.resourceUri) })
          : ui,
      [flatKey]: typeof flat === 'string' ? this.here(flat) : flat,
    })
  }
}

/** Returns a list with each entry changed. @returns the list itself if none is, and any other value as it is */
function mapItems(list: unknown, change: (entry: unknown) => unknown): unknown {
  if (!Array.isArray(list)) return list
  const changed = list.map(change)
  return changed.some((entry, index) => entry !== list[index]) ? changed : list
}
