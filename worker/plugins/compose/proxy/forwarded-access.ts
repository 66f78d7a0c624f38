import type { Guarded } from '../../../declarations/caller.ts'
import type { Forwarded, ForwardedEntry } from '../../../declarations/forwarded.ts'
import type { SelectedTools } from '../../../declarations/tool-selection.ts'
import { isPermitted } from '../../../engine/methods/lists.ts'
import type { MethodContext } from '../../../engine/methods/method.ts'
import type { JsonSchema, Params } from '../../../protocol/types.ts'
import { canonicalTemplate, canonicalUri } from '../../../protocol/uri.ts'
import { PrefixedUris } from './prefixed-uris.ts'
import type { ProxyOptions } from './proxy-options.ts'

type AccessTerms = Pick<ProxyOptions, 'scopes'> & { readonly prefix: string; readonly selected: SelectedTools }

/** Decides who may use the entries of an upstream. */
export class ForwardedAccess implements Forwarded {
  readonly what: string
  readonly prefix: string
  readonly guarded: ReadonlyMap<string, Guarded>
  /** The URIs of the upstream on this server. */
  readonly uris: PrefixedUris
  readonly #options: AccessTerms
  /** Output schemas of the tools that calls have reached, by the params of the calls. */
  readonly #outputSchemas = new WeakMap<Params, JsonSchema>()

  constructor(what: string, options: AccessTerms) {
    this.what = what
    this.prefix = options.prefix
    this.#options = options
    this.uris = new PrefixedUris(options.prefix)
    this.guarded = this.#guardedTools()
  }

  get scopes(): readonly string[] | undefined {
    const { scopes } = this.#options
    return typeof scopes === 'function' ? [] : scopes
  }

  accessTo(kind: ForwardedEntry['kind'] | 'template', name: string): Guarded | undefined {
    // The spelling that is sent to the upstream.
    if (kind === 'resource') return this.accessOf({ kind, name: canonicalUri(name) })
    if (kind === 'template') return this.accessOf({ kind: 'resource', name: canonicalTemplate(name) })
    return name.startsWith(this.prefix) ? this.accessOf({ kind, name: this.#unprefixed(kind, name) }) : undefined
  }

  /** Returns the access options of an entry; `undefined` if this server does not offer it. @param entry with its name without prefix */
  accessOf({ kind, name }: ForwardedEntry): Guarded | undefined {
    const nameThere = kind === 'tool' ? this.toolThere(name) : kind === 'resource' ? this.uris.there(name) : name
    if (nameThere === undefined) return undefined
    const guarded = kind === 'tool' ? this.guarded.get(this.prefix + name) : undefined
    return guarded ?? { visibleTo: undefined, scopes: this.#scopesOf({ kind, name: nameThere }) }
  }

  outputSchemaOf(params: Params): JsonSchema | undefined {
    return this.#outputSchemas.get(params)
  }

  /** Stores the output schema of the tool that a call has reached, as its caller may list it. @param params that the client sent */
  setOutputSchema(params: Params, schema: JsonSchema | undefined): void {
    if (schema) this.#outputSchemas.set(params, schema)
  }

  /** Returns the name of a tool on the upstream; `undefined` for a tool that this server leaves out. @param name without the prefix */
  toolThere(name: string): string | undefined {
    return this.#options.selected.ownNameOf(name)
  }

  /** Whether the upstream may have an entry. @param name on this server, with the prefix */
  offers(kind: ForwardedEntry['kind'], name: string): boolean {
    if (kind !== 'resource' && !name.startsWith(this.prefix)) return false
    return this.accessOf({ kind, name: this.#unprefixed(kind, name) }) !== undefined
  }

  /** Whether the scopes of a resource depend on its URI. */
  get hasScopesByName(): boolean {
    return typeof this.#options.scopes === 'function'
  }

  /** Returns all scopes of an entry, if the caller lacks one of them. @param name on this server, with the prefix */
  lacked({ call }: MethodContext, kind: ForwardedEntry['kind'], name: string): readonly string[] {
    const { scopes = [] } = this.accessOf({ kind, name: this.#unprefixed(kind, name) }) ?? {}
    return isPermitted({ scopes }, call) ? [] : scopes
  }

  #unprefixed(kind: ForwardedEntry['kind'], name: string): string {
    return kind === 'resource' ? name : name.slice(this.prefix.length)
  }

  /** Returns the access options of the tools that have any of their own. */
  #guardedTools(): ReadonlyMap<string, Guarded> {
    const overrides = [...this.#options.selected.overrides].filter(
      ([name, { scopes, rateLimit, visibleTo }]) =>
        this.#options.selected.has(name) && (scopes ?? rateLimit ?? visibleTo),
    )
    return new Map(
      overrides.map(([name, { name: named = name, scopes, rateLimit, visibleTo }]) => {
        const scopesOf = () => scopes ?? this.#scopesOf({ kind: 'tool', name })
        const guarded: Guarded = {
          visibleTo,
          rateLimit,
          get scopes() {
            return scopesOf()
          },
        }
        return [this.prefix + named, guarded]
      }),
    )
  }

  /** @param entry with its name on the upstream */
  #scopesOf(entry: ForwardedEntry): readonly string[] {
    const { scopes = [] } = this.#options
    if (typeof scopes !== 'function') return scopes
    const ownNames = scopes(entry)
    if (Array.isArray(ownNames)) return ownNames
    throw new Error(`The scopes of ${this.what} for the ${entry.kind} "${entry.name}" must be a list, such as []`)
  }
}
