/** The declarations of a server: its tools, resources, prompts, interceptors and methods. */
import type { Principal } from '../protocol/principal.ts'
import type { Revision } from '../protocol/revision.ts'
import type { Params } from '../protocol/types.ts'
import type { Caller } from './caller.ts'
import { ChangeHub } from './change-hub.ts'
import type { ClientHooks } from './client-hooks.ts'
import type { Awaitable, Context, ContextMembers } from './context.ts'
import type { HandleFailure } from './failure.ts'
import type { Forwarded } from './forwarded.ts'
import type { Interceptor } from './interceptor.ts'
import type { Prompt } from './prompt.ts'
import type { FixedResource, Resource, TemplateResource } from './resource.ts'
import type { ServerOptions } from './server-options.ts'
import type { Tool } from './tool.ts'

/** Unseals a value that this endpoint sealed for a purpose and for the caller. Resolves with `undefined` for any other value. */
export type Open = (purpose: string, sealed: string) => Promise<unknown>

/** Describes topics of a `subscriptions/listen` request besides the changes of lists and resources. */
export type ExtraSubscription = {
  /** The part of the filter that the server supports. */
  readonly filter: Params
  /** Topics whose notifications the stream receives. */
  readonly topics: readonly string[]
  /** Called once the stream is open. @param shard the Subscriptions object that serves the stream */
  onOpened(shard: number): Promise<void>
}

/** Reads an additional filter from the params of `subscriptions/listen`; `undefined` without such a filter. */
export type SubscriptionTopics = (
  params: Params,
  open: Open,
  principal: Principal | undefined,
) => Promise<ExtraSubscription | undefined>

/**
 * Returns capabilities for `initialize`, for protocol versions that declare as a capability what others declare as an extension.
 *
 * @param declarations those of the endpoint
 */
export type ReadCapabilities = (
  revision: Revision,
  principal: Principal | undefined,
  caller: Caller,
  declarations: Declarations,
) => Awaitable<Params>

/** The listed form of an entry that has a handler. */
export type HandlerItem = Tool['item'] | Prompt['item'] | Resource['item']

/** Watches the handler of one step in development. */
export interface Instrumented {
  /** The `ctx` that the handler receives. */
  readonly context: Context
  /** Runs the handler of a tool, a prompt or a resource. */
  run(kind: 'tool' | 'prompt' | 'resource', item: HandlerItem, handler: () => unknown): unknown
  /** Called when the step has ended. */
  end(): void
}

/** Lists all that a server declares, in the order of registration, with the additions of the plugins of an endpoint. Read-only. */
export interface Declarations {
  /** The options of `createServer()`. */
  readonly options: ServerOptions
  /** Tools, by name. */
  readonly tools: ReadonlyMap<string, Tool>
  /** Resources with a fixed URI, by URI. */
  readonly resources: ReadonlyMap<string, FixedResource>
  /** Templates of resources, by template. */
  readonly templates: ReadonlyMap<string, TemplateResource>
  /** Prompts, by name. */
  readonly prompts: ReadonlyMap<string, Prompt>
  /** Servers whose tools, resources and prompts this server also offers: those of `proxy()`. */
  readonly forwarded: readonly Forwarded[]
  /** Experimental capabilities, by name: those of the options and of mounted servers. */
  readonly experimental: Readonly<Record<string, Params>> | undefined
  /** Settings of extensions, by name; `undefined` without extensions. */
  readonly extensions: Readonly<Record<string, Params>> | undefined
  /** Returns the capabilities that plugins add to `initialize`; `undefined` without such plugins. */
  readonly capabilities: ReadCapabilities | undefined
  /** Methods of extensions and plugins, by name: each is a `Method`. They precede those of the protocol. */
  readonly methods: ReadonlyMap<string, unknown>
  /** Interceptors, outermost first. */
  readonly interceptors: readonly Interceptor[]
  /** Increases with each registration, so that values computed from declarations can be cached. */
  readonly version: number
  /** What plugins add to `ctx`: see `Plugin.context`. */
  readonly context?: ContextMembers | undefined
  /** Watches handlers in development; `undefined` in production. */
  readonly instrument?: ((context: Context) => Instrumented) | undefined
  /** Reports a failure of a handler: see `onError` and `handlerErrors` of `serve()`. Default: it is logged. */
  readonly handleFailure?: HandleFailure | undefined
  /** Identity of the endpoint: see `identity` of `serve()`. Absent without an endpoint. */
  readonly identity?: string | undefined
  /** Bytes of one result: see `limits` of `serve()`. Default: no limit. */
  readonly maxResultBytes?: number | undefined
  /** Hooks of the plugins; absent without plugins. */
  readonly hooks?: ClientHooks
}

/** The entries of each list of a server. */
type Entries = { tools: Tool; resources: FixedResource; templates: TemplateResource; prompts: Prompt }

/** The lists of a server that have entries. */
export type EntryKind = keyof Entries

/** An entry of a list: a tool, a resource, a template of resources, or a prompt. */
export type EntryOf<K extends EntryKind> = Entries[K]

/** The lists of a server, by name. */
type EntryMaps = { readonly [K in EntryKind]: Map<string, Entries[K]> }

/** Declarations that can still change. Only a `Server` and the functions of `extend.ts` add to them. */
export class DeclarationsDraft implements Declarations, EntryMaps {
  readonly options: ServerOptions
  readonly tools = new Map<string, Tool>()
  readonly resources = new Map<string, FixedResource>()
  readonly templates = new Map<string, TemplateResource>()
  readonly prompts = new Map<string, Prompt>()
  readonly forwarded: Forwarded[] = []
  readonly methods = new Map<string, unknown>()
  readonly interceptors: Interceptor[] = []
  readonly changes = new ChangeHub()
  experimental: Declarations['experimental']
  extensions: Declarations['extensions']
  capabilities: ReadCapabilities | undefined
  version = 0

  constructor(options: ServerOptions) {
    this.options = options
    this.experimental = options.experimental
  }

  addEntry<K extends EntryKind>(kind: K, name: string, entry: EntryOf<K>): void {
    addTo(this, kind, name, entry)
    this.version += 1
  }
}

/** TypeScript relates the type of an entry to `kind` in a mapped type only. */
const addTo = <K extends EntryKind>(lists: EntryMaps, kind: K, name: string, entry: EntryOf<K>) =>
  lists[kind].set(name, entry)

const drafts = new WeakMap<object, DeclarationsDraft>()

/** Makes the draft of a server available to `draftOf`. */
export const registerDraft = (server: object, draft: DeclarationsDraft): void => void drafts.set(server, draft)

/**
 * Returns the declarations of a server, for a module that adds to them while `server.use()` calls it.
 *
 * @throws Error for the server that a plugin receives, which is read-only
 */
export function draftOf(server: object): DeclarationsDraft {
  const draft = drafts.get(server)
  if (draft) return draft
  throw new Error('A plugin cannot add declarations to a server: use a module of server.use()')
}
