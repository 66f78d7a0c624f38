import { type Change, type List, type Recipients, toggleKey } from '../protocol/changes.ts'
import type { Principal } from '../protocol/principal.ts'
import type { Revision } from '../protocol/revision.ts'
import type { Caching, Implementation, Params } from '../protocol/types.ts'
import type { TemplateVariables } from '../protocol/uri-template.ts'
import type { AccessOptions, Caller, Guarded, Registration } from './caller.ts'
import { checks } from './checking.ts'
import type { Awaitable, Context } from './context.ts'
import { checkDefinition } from './definition.ts'
import { readForm } from './form.ts'
import type { Forwarded } from './forwarded.ts'
import type { Interceptor } from './interceptor.ts'
import { definePrompt, type Prompt, type PromptDefinition, type PromptHandler } from './prompt.ts'
import { defineResource, type Resource, type ResourceDefinition, type ResourceHandler } from './resource.ts'
import type { JsonSchemaReader, Schema } from './schema.ts'
import { defineTool, type Tool, type ToolDefinition, type ToolHandler } from './tool.ts'

export type ServerOptions = Implementation & {
  /** Told to the model by clients that do so. */
  instructions?: string
  /** Experimental capabilities to declare, by name, with their settings. Default: none. */
  experimental?: Readonly<Record<string, Params>>
  /** How long clients may keep lists, and for whom. Default: not at all. */
  caching?: Caching
  /** Entries on one page of a list. Default 1,000: many clients read the first page only. */
  pageSize?: number
  /** The checker for plain JSON Schemas, of `edgemcp/json-schema`. Other schemas bring their own. */
  jsonSchema?: JsonSchemaReader
}

/** Part of a server, as a function that registers it. */
export type Module = (server: Server) => void

/**
 * Sends change notifications to every client that subscribed, or to those of one tenant. Each method resolves once the delivery is certain:
 * open streams get the notification at once, sessions as soon as their objects can take it.
 *
 * @throws Error when the server is served without `subscriptions()` of `edgemcp/subscriptions`
 */
export interface ChangeNotifier {
  /** Sends `notifications/tools/list_changed`. */
  toolsChanged(recipients?: Recipients): Promise<void>
  /** Sends `notifications/prompts/list_changed`. */
  promptsChanged(recipients?: Recipients): Promise<void>
  /** Sends `notifications/resources/list_changed`. */
  resourcesChanged(recipients?: Recipients): Promise<void>
  /** Sends `notifications/resources/updated`. `updated` of the value that `server.resource()` returns builds the URI. */
  resourceUpdated(uri: string, recipients?: Recipients): Promise<void>
}

/** A registered resource: builds its URIs and sends its change notifications. */
export interface ResourceHandle<U extends string> extends Registration {
  uri(...variables: VariablesOf<U>): string
  /** Sends `notifications/resources/updated` to every client that subscribed to this resource or to its template, or to those of one tenant. */
  updated(...variables: [...VariablesOf<U>, recipients?: Recipients]): Promise<void>
}

type VariablesOf<U extends string> = keyof TemplateVariables<U> extends never ? [] : [TemplateVariables<U>]

/** Opens what was sealed at this endpoint for this purpose and for the caller; `undefined` for anything else. */
export type Open = (purpose: string, sealed: string) => Promise<unknown>

/** What a stream is asked for that an extension tells of. */
export type ExtraSubscription = {
  /** The part of the filter that is honoured. */
  readonly filter: Params
  readonly topics: readonly string[]
  /** Called once the stream is there. @param shard of the Subscriptions objects, which it belongs to */
  onOpened(shard: number): Promise<void>
}

/** Everything that was registered, in order. */
export type Registry = {
  readonly options: ServerOptions
  readonly tools: Map<string, Tool>
  readonly resources: Map<string, Resource>
  readonly templates: Map<string, Resource>
  readonly prompts: Map<string, Prompt>
  /** Servers whose tools, resources and prompts this server has as well. */
  readonly forwarded: Forwarded[]
  /** Experimental capabilities to declare, by name: those of the options, and those of mounted servers. */
  experimental?: Readonly<Record<string, Params>> | undefined
  /** Settings of extensions, by name: what is offered besides the protocol itself. */
  extensions?: Record<string, Params>
  /** What a session's server can do besides, where a revision has words of its own for what is an extension to others. */
  capabilities?: (revision: Revision, principal: Principal | undefined) => Awaitable<Params>
  /** What streams of changes may be asked for besides, by what `subscriptions/listen` says. */
  subscriptionFilters?: (
    params: Params,
    open: Open,
    principal: Principal | undefined,
  ) => Promise<ExtraSubscription | undefined>
  /** What extensions answer, by method: each an engine's `Method`. They come before the protocol's own. */
  readonly methods: Map<string, unknown>
  /** Around every step of every call; the first one is outermost. */
  readonly interceptors: Interceptor[]
  /** Replaces the context of a handler: see `Plugin.instrument`. */
  instrument?: (context: Context) => { readonly context: Context; end(): void }
  /** Lists that are the same for everybody, as texts, by method and revision. */
  listTextCache: Map<string, string>
  /** Sees to it that work is completed that nobody may await, and reports its failure. */
  complete?: (work: Promise<void>) => void
  publish: (change: Change, recipients?: Recipients) => Promise<void>
  /** Enables or disables what is in a list. */
  setEnabled: (list: List, name: string, on: boolean) => Promise<void>
  /** What was enabled or disabled, by list and name; nothing else was. */
  enabledOverrides: () => Promise<Readonly<Record<string, boolean>>>
}

/** What a developer declares: tools, resources and prompts, each once, for every revision of the protocol. */
export class Server {
  readonly registry: Registry
  /** Sends change notifications, from anywhere in the application. */
  readonly notify: ChangeNotifier
  /** Goes before the names of the tools and prompts that are declared here: a module's, where `use` was given one. Default: none. */
  readonly prefix: string

  constructor(options: ServerOptions, shared?: { registry: Registry; prefix: string }) {
    this.prefix = shared?.prefix ?? ''
    this.registry = shared?.registry ?? newRegistry(options)
    const publish = (change: Change, recipients?: Recipients) =>
      this.#complete(this.registry.publish(change, recipients))
    this.notify = {
      toolsChanged: (recipients) => publish({ list: 'tools' }, recipients),
      promptsChanged: (recipients) => publish({ list: 'prompts' }, recipients),
      resourcesChanged: (recipients) => publish({ list: 'resources' }, recipients),
      resourceUpdated: (uri, recipients) => publish({ resource: uri }, recipients),
    }
  }

  /**
   * Declares a tool.
   *
   * @throws Error at start-up, with one sentence that names the fix
   */
  tool<const I extends Schema | undefined = undefined>(
    name: string,
    definition: ToolDefinition<I, undefined>,
    handler: ToolHandler<I, undefined>,
  ): Registration
  tool<const I extends Schema | undefined = undefined, const O extends Schema | undefined = undefined>(
    name: string,
    definition: ToolDefinition<I, O>,
    handler: ToolHandler<I, O>,
  ): Registration
  tool<const I extends Schema | undefined, const O extends Schema | undefined>(
    name: string,
    definition: ToolDefinition<I, O>,
    handler: ToolHandler<I, O>,
  ): Registration {
    checks?.checkDefinitionValues('tool', this.prefix + name, definition)
    checkDefinition('tool', this.prefix + name, definition)
    checks?.checkTool(this.prefix + name, definition, handler)
    const tool = defineTool(
      this.prefix + name,
      definition,
      handler as Tool['handler'],
      this.registry.options.jsonSchema,
    )
    checks?.checkToolSchemas(tool)
    return this.#add('tools', 'tool', tool.item.name, tool, definition)
  }

  /**
   * Declares a resource: a fixed URI, or an RFC 6570 template.
   *
   * @throws Error at start-up, with one sentence that names the fix
   */
  resource<const U extends string>(
    uri: U,
    definition: ResourceDefinition<U>,
    handler: ResourceHandler<U>,
  ): ResourceHandle<U> {
    checks?.checkDefinitionValues('resource', uri, definition)
    checkDefinition('resource', uri, definition)
    checks?.checkResource(uri, definition, handler)
    const resource = defineResource(uri, definition as unknown as ResourceDefinition<string>, handler)
    checks?.checkTemplate(uri, resource)
    const registration = this.#add(resource.template ? 'templates' : 'resources', 'resource', uri, resource, definition)
    const { template } = resource
    const expand = (variables: object | undefined) =>
      template ? template.uri((variables ?? {}) as Record<string, string>) : uri
    return {
      ...registration,
      uri: (...variables) => expand(variables[0]),
      updated: (...values) =>
        this.notify.resourceUpdated(expand(values[0]), values[template ? 1 : 0] as Recipients | undefined),
    }
  }

  /**
   * Declares a prompt.
   *
   * @throws Error at start-up, with one sentence that names the fix
   */
  prompt<const A extends Schema | undefined = undefined>(
    name: string,
    definition: PromptDefinition<A>,
    handler: PromptHandler<A>,
  ): Registration {
    checks?.checkDefinitionValues('prompt', this.prefix + name, definition)
    checkDefinition('prompt', this.prefix + name, definition)
    checks?.checkPrompt(this.prefix + name, definition, handler)
    const prompt = definePrompt(
      this.prefix + name,
      definition as unknown as PromptDefinition<Schema | undefined>,
      handler as Prompt['handler'],
      this.registry.options.jsonSchema,
    )
    checks?.checkPromptArguments(prompt)
    return this.#add('prompts', 'prompt', prompt.item.name, prompt, definition)
  }

  /**
   * The schema of a question, read now: what no form can show is an error at start-up, not when a handler first asks.
   *
   * @returns the schema, for `ctx.elicit`
   * @throws Error with one sentence that names the field and the fix
   */
  form<const S extends Schema>(schema: S): S {
    readForm(schema, 'form', this.registry.options.jsonSchema)
    return schema
  }

  /**
   * Runs a module, which registers its part of the server at once.
   *
   * @param options `prefix` goes before the names of its tools and prompts; URIs have their schemes. Default: none
   * @throws Error for a module that is async, and for an interceptor
   */
  use(module: Module, options: { prefix?: string } = {}): this {
    checks?.checkModule(module, options)
    const { prefix = '' } = options
    const { registry } = this
    const part = prefix ? new Server(registry.options, { registry, prefix: this.prefix + prefix }) : this
    const returned: unknown = module(part)
    if (returned instanceof Promise) {
      // It was given no `next`, for example.
      returned.catch(() => {})
      throw new Error(
        'A module given to server.use() returned a promise: a module registers at once, and an interceptor goes to server.intercept(fn)',
      )
    }
    return this
  }

  /**
   * Wraps every step of every call: lists, calls, reads, completions, those of extensions, and runs of tasks. What is added first is
   * outermost. `next()` settles however the step ends, so `finally` runs also when the handler needs input.
   *
   * @example
   * server.intercept(async (call, next) => {
   *   const since = Date.now()
   *   try {
   *     return await next()
   *   } finally {
   *     console.log(call.method, call.params.name, Date.now() - since)
   *   }
   * })
   */
  intercept(interceptor: Interceptor): this {
    checks?.checkInterceptor(interceptor)
    this.registry.interceptors.push(interceptor)
    return this
  }

  /** Work that goes on, and whose failure is reported, also when the handler that began it does not await it. */
  #complete(work: Promise<void>): Promise<void> {
    this.registry.complete?.(work)
    return work
  }

  #add<K extends 'tools' | 'resources' | 'templates' | 'prompts'>(
    kind: K,
    word: string,
    name: string,
    entry: Registry[K] extends Map<string, infer E> ? E : never,
    { visibleTo, enabled, scopes, listWithoutScopes, rateLimit }: AccessOptions,
  ): Registration {
    const entries = this.registry[kind] as Map<string, typeof entry>
    if (entries.has(name)) refuseTwice(word, name)
    const list: List = kind === 'templates' ? 'resources' : kind
    const isOn = async (caller: Caller) => {
      const on = (await this.registry.enabledOverrides())[toggleKey(list, name)] ?? enabled === true
      return on && (visibleTo ? visibleTo(caller) : true)
    }
    this.registry.listTextCache = new Map()
    const access: Guarded = {
      scopes,
      listWithoutScopes,
      rateLimit,
      enabled,
      visibleTo: enabled === undefined ? visibleTo : isOn,
    }
    // The type of an entry follows from `kind`, which TypeScript cannot relate to a spread.
    entries.set(name, { ...(entry as Guarded), ...access } as typeof entry)
    const turn = async (on: boolean) => {
      if (enabled === undefined) {
        throw new Error(`The ${word} "${name}" cannot be enabled or disabled: declare it with enabled: true`)
      }
      await this.#complete(this.registry.setEnabled(list, name, on))
    }
    return { enable: () => turn(true), disable: () => turn(false), remove: () => turn(false) }
  }
}

checks?.refuseMethodsOfSdk(Server.prototype)

function refuseTwice(word: string, name: string): never {
  const fix = word === 'resource' ? 'give one another URI' : 'rename one, or plug its module in with a prefix'
  throw new Error(`The ${word} "${name}" is registered twice: ${fix}`)
}

async function subscriptionsDisabled(): Promise<never> {
  throw new Error(checks?.noUpdates ?? 'Nobody hears of changes')
}

function newRegistry(options: ServerOptions): Registry {
  checks?.checkServerOptions(options)
  return {
    options,
    tools: new Map(),
    resources: new Map(),
    templates: new Map(),
    prompts: new Map(),
    forwarded: [],
    experimental: options.experimental,
    methods: new Map(),
    listTextCache: new Map(),
    interceptors: [],
    publish: subscriptionsDisabled,
    setEnabled: subscriptionsDisabled,
    enabledOverrides: async () => ({}),
  }
}

/**
 * Starts the declaration of a server.
 *
 * @example
 * const server = createServer({ name: 'hello', version: '1.0.0' })
 * server.tool('greet', { description: 'Greet someone by name', inputSchema: z.object({ name: z.string() }) },
 *   ({ name }) => `Hello, ${name}!`)
 */
export const createServer = (options: ServerOptions): Server => new Server(options)
