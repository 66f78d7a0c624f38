/** What a server declares. */
import type { Principal } from '../protocol/principal.ts'
import type { Revision } from '../protocol/revision.ts'
import type { Params } from '../protocol/types.ts'
import { ChangeHub } from './change-hub.ts'
import type { Awaitable, Context } from './context.ts'
import type { Forwarded } from './forwarded.ts'
import type { Interceptor } from './interceptor.ts'
import type { Prompt } from './prompt.ts'
import type { FixedResource, Resource, TemplateResource } from './resource.ts'
import type { Open, ServerOptions } from './server.ts'
import type { Tool } from './tool.ts'

/** Topics of a `subscriptions/listen` beyond the changes of lists and resources. */
export type ExtraSubscription = {
  /** The part of the filter that is honoured. */
  readonly filter: Params
  readonly topics: readonly string[]
  /** Called once the stream is open. @param shard the Subscriptions object that serves it */
  onOpened(shard: number): Promise<void>
}

/** Capabilities that a server declares in `initialize`, where a version has names of its own for what is an extension in others. */
export type ReadCapabilities = (revision: Revision, principal: Principal | undefined) => Awaitable<Params>

/** What has a handler, as lists show it. */
export type HandlerItem = Tool['item'] | Prompt['item'] | Resource['item']

/** What a plugin puts around the handler of one step. */
export interface Instrumented {
  readonly context: Context
  /** Runs the handler of a tool, a prompt or a resource. */
  run(kind: 'tool' | 'prompt' | 'resource', item: HandlerItem, handler: () => unknown): unknown
  /** Called when the step has ended. */
  end(): void
}

/** Everything that a server declares, in the order of its declaration, with what the plugins of an endpoint add. Nothing outside this folder writes it. */
export interface Declarations {
  readonly options: ServerOptions
  readonly tools: ReadonlyMap<string, Tool>
  readonly resources: ReadonlyMap<string, FixedResource>
  readonly templates: ReadonlyMap<string, TemplateResource>
  readonly prompts: ReadonlyMap<string, Prompt>
  /** Servers whose tools, resources and prompts this server has as well. */
  readonly forwarded: readonly Forwarded[]
  /** Experimental capabilities to declare, by name: those of the options, and those of mounted servers. */
  readonly experimental: Readonly<Record<string, Params>> | undefined
  /** Settings of extensions, by name; `undefined`: there are none. */
  readonly extensions: Readonly<Record<string, Params>> | undefined
  readonly capabilities: ReadCapabilities | undefined
  /** What extensions answer, by method: each an engine's `Method`. They come before those of the protocol. */
  readonly methods: ReadonlyMap<string, unknown>
  /** Run around every step of every call, the first one outermost. */
  readonly interceptors: readonly Interceptor[]
  /** Grows with each declaration, so that what is computed from declarations can be cached. */
  readonly version: number
  /** Reads the other filters of `subscriptions/listen`: see `Plugin.subscriptionTopics`. */
  readonly subscriptionFilters?:
    | ((params: Params, open: Open, principal: Principal | undefined) => Promise<ExtraSubscription | undefined>)
    | undefined
  /** Replaces the context of a handler: see `Plugin.instrument`. */
  readonly instrument?: ((context: Context) => Instrumented) | undefined
}

/** The entries of each list of a server. */
type Entries = { tools: Tool; resources: FixedResource; templates: TemplateResource; prompts: Prompt }

/** The lists of a server that have entries. */
export type EntryKind = keyof Entries

/** An entry of a list: a tool, a resource, a template of resources, or a prompt. */
export type EntryOf<K extends EntryKind> = Entries[K]

/** The lists of a server, by name. */
type EntryMaps = { readonly [K in EntryKind]: Map<string, Entries[K]> }

/** Declarations in the making. Only a `Server`, and the functions of `extend.ts`, add to them. */
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

/** Lets `draftOf` find the draft of a server. */
export const registerDraft = (server: object, draft: DeclarationsDraft): void => void drafts.set(server, draft)

/**
 * Returns the declarations of a server, for a module that adds to them while `server.use()` runs it.
 *
 * @throws Error for the server that a plugin is given: it is read-only
 */
export function draftOf(server: object): DeclarationsDraft {
  const draft = drafts.get(server)
  if (draft) return draft
  throw new Error(
    'A plugin cannot declare anything on a server that is served: declare it in a module, for server.use()',
  )
}
