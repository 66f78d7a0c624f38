/** What a server has from other servers, as `proxy()` does: as much as authorization needs to know. */

/** One thing that another server has. */
export type ForwardedEntry = {
  readonly kind: 'tool' | 'prompt' | 'resource'
  /** Its name on that server, without a prefix; for a resource its URI, or the text of its template. */
  readonly name: string
}

export interface Forwarded {
  /** For errors, such as `the proxy of "https://weather.example/mcp"`. */
  readonly what: string
  /** Goes before the names of its tools and prompts here. */
  readonly prefix: string
  /** Of everything that it has; `[]` if each entry has its own; `undefined`: not decided. */
  readonly scopes: readonly string[] | undefined
  scopesOf(entry: ForwardedEntry): readonly string[]
}
