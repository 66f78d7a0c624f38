/** The server: declares tools, resources, prompts and interceptors, and sends change notifications. */
import {
  type List,
  type Recipients,
  type ServerEvent,
  type SessionRecipients,
  type SubscriberCount,
  type TopicRecipients,
  toggleKey,
  type UserRecipients,
} from '../protocol/changes.ts'
import type { LogLevel } from '../protocol/types.ts'
import type { TemplateVariables } from '../protocol/uri-template.ts'
import type { AccessOptions, Caller, Guarded, Registration } from './caller.ts'
import {
  checkInputSchema,
  checkInterceptor,
  checkModule,
  checkPrompt,
  checkPromptArguments,
  checkResource,
  checkTemplate,
  checkTool,
} from './check-declarations.ts'
import { checkDefinition } from './check-members.ts'
import { checkCompletedArguments, checkCompletedVariables } from './check-uncalled.ts'
import {
  type Declarations,
  DeclarationsDraft,
  draftOf,
  type EntryKind,
  type EntryOf,
  registerDraft,
} from './declarations.ts'
import { addInterceptors } from './extend.ts'
import { readForm } from './form.ts'
import type { Interceptor } from './interceptor.ts'
import { refuseOtherMethods } from './other-libraries.ts'
import {
  type AnyPromptDefinition,
  definePrompt,
  type Prompt,
  type PromptDefinition,
  type PromptHandler,
} from './prompt.ts'
import {
  type AnyResourceDefinition,
  defineResource,
  type Resource,
  type ResourceDefinition,
  type ResourceHandler,
} from './resource.ts'
import type { Schema } from './schema.ts'
import { checkServerOptions, type ServerOptions } from './server-options.ts'
import { defineTool, type Tool, type ToolDefinition, type ToolDefinitionByCaller, type ToolHandler } from './tool.ts'

/**
 * Registers a part of a server. `server.use(module)` calls it.
 *
 * @example
 * const greetings: Module = (server) => {
 *   server.tool('greet', { description: 'Greet the world' }, () => 'Hello, world!')
 * }
 * createServer({ name: 'hello', version: '1.0.0' }).use(greetings)
 */
export type Module = (server: Server) => void

/**
 * Sends change notifications to subscribed clients: to all of them, or with `recipients` to those of a tenant, a user or a session. Each
 * promise resolves once the delivery is certain: open streams receive the notification at once, sessions as soon as their Durable Objects
 * can store it. It also resolves if no client receives the notification. `undefined` is no recipient: `ctx.principal` of an anonymous
 * caller would select everyone.
 *
 * @throws Error when `serve()` has no plugin `subscriptions()` of `edgemcp/subscriptions`, and for invalid recipients
 */
export interface ChangeNotifier {
  /** Sends `notifications/tools/list_changed`. */
  toolsChanged(...recipients: [] | [Recipients]): Promise<void>
  /** Sends `notifications/prompts/list_changed`. */
  promptsChanged(...recipients: [] | [Recipients]): Promise<void>
  /** Sends `notifications/resources/list_changed`. */
  resourcesChanged(...recipients: [] | [Recipients]): Promise<void>
  /**
   * Sends `notifications/resources/updated`. For a registered resource, `updated()` of its handle builds the URI.
   *
   * @throws Error for a text that is not a URI with a scheme
   */
  resourceUpdated(uri: string, ...recipients: [] | [Recipients]): Promise<void>
  /**
   * Sends a log message outside of a call, to the sessions of a user or to one session. A session receives it on its `GET` stream or SSE
   * stream if its log level includes the level: that of `logging/setLevel`, otherwise `info`. Clients of 2026-07-28 do not receive it,
   * because their protocol version allows log messages on the stream of a call only. In a handler, use `ctx.log`.
   *
   * @param data any value that has a JSON form. Do not send credentials or personal data
   * @param logger names the part of the application that logs. Default: none
   * @throws Error for an unknown level, for data without a JSON form, and for other recipients
   * @see https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/logging
   */
  log(level: LogLevel, data: unknown, recipients: UserRecipients | SessionRecipients, logger?: string): Promise<void>
  /**
   * Sends `notifications/elicitation/complete` outside of a call: the user has completed the page of the URL elicitation with this
   * `elicitationId`, which is an option of `ctx.elicitUrl`. The recipient is the session that received the elicitation:
   * `{ session: ctx.session.id }`. Only clients of 2025-11-25 receive it, on the `GET` stream of their session. In a handler, use
   * `ctx.elicitationComplete`.
   *
   * @throws Error for an empty id, and for other recipients
   * @see https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#completion-notifications-for-url-mode-elicitation
   */
  elicitationComplete(elicitationId: string, recipients: SessionRecipients): Promise<void>
}

/** Builds the URIs of a registered resource, sends its change notifications, and enables and disables it. */
export interface ResourceHandle<U extends string> extends Registration {
  /** Returns the URI of the resource, with the variables of its template. @throws Error when a variable is missing */
  uri(...variables: VariablesOf<U>): string
  /**
   * Sends `notifications/resources/updated` to the clients that subscribed to the resource or its template: to all of them, or with
   * `recipients` to those of a tenant, a user or a session.
   *
   * @throws Error when a variable is missing, when `serve()` has no plugin `subscriptions()`, and for invalid recipients
   */
  updated(...variables: [...VariablesOf<U>, ...recipients: [] | [Recipients]]): Promise<void>
}

type VariablesOf<U extends string> = keyof TemplateVariables<U> extends never ? [] : [TemplateVariables<U>]

/** Declares tools, resources and prompts, each once for all protocol versions. `createServer()` creates one, `serve()` serves it. */
export class Server {
  /** The registered tools, resources, prompts and interceptors. */
  readonly declarations: Declarations
  /** Sends change notifications. Works from any code of the application, also outside of handlers. */
  readonly notify: ChangeNotifier
  /** Starts the names of the tools and prompts that are registered here: the `prefix` of `use()`. Default: an empty text. */
  readonly prefix: string

  /** @param shared the declarations and the prefix of the server that this one is a part of */
  constructor(options: ServerOptions, shared?: { readonly draft: DeclarationsDraft; readonly prefix: string }) {
    checkServerOptions(options)
    this.prefix = shared?.prefix ?? ''
    const draft = shared?.draft ?? new DeclarationsDraft(options)
    this.declarations = draft
    registerDraft(this, draft)
    const publish = (change: ServerEvent, recipients?: Recipients) => draft.changes.publish(change, recipients)
    this.notify = {
      toolsChanged: (recipients?: Recipients) => publish({ list: 'tools' }, recipients),
      promptsChanged: (recipients?: Recipients) => publish({ list: 'prompts' }, recipients),
      resourcesChanged: (recipients?: Recipients) => publish({ list: 'resources' }, recipients),
      resourceUpdated: (uri, recipients?: Recipients) => publish({ resource: uri }, recipients),
      log: (level, data, recipients, logger) =>
        publish({ method: 'notifications/message', params: { level, logger, data } }, recipients),
      elicitationComplete: (elicitationId, recipients) =>
        publish({ method: 'notifications/elicitation/complete', params: { elicitationId } }, recipients),
    }
  }

  /**
   * Registers a tool.
   *
   * @param name 1 to 128 letters, digits, `_`, `.` or `-`
   * @param handler gets the validated arguments and a `Context`, and returns text, content blocks, a value of `outputSchema` or a
   * `toolResult()`
   * @returns a handle that enables and disables the tool
   * @throws Error for an invalid name, definition or schema, and for a name that is already registered. The message names the fix
   * @see https://modelcontextprotocol.io/specification/2026-07-28/server/tools
   *
   * @example
   * server.tool('greet', { description: 'Greet a person', inputSchema: z.object({ name: z.string() }) }, ({ name }) => `Hello, ${name}!`)
   */
  tool<const S extends Schema>(
    name: string,
    definition: ToolDefinitionByCaller<S, undefined>,
    handler: ToolHandler<S, undefined>,
  ): Registration
  tool<const I extends Schema | undefined = undefined>(
    name: string,
    definition: ToolDefinition<I, undefined>,
    handler: ToolHandler<I, undefined>,
  ): Registration
  tool<const S extends Schema, const O extends Schema | undefined = undefined>(
    name: string,
    definition: ToolDefinitionByCaller<S, O>,
    handler: ToolHandler<S, O>,
  ): Registration
  tool<const I extends Schema | undefined = undefined, const O extends Schema | undefined = undefined>(
    name: string,
    definition: ToolDefinition<I, O>,
    handler: ToolHandler<I, O>,
  ): Registration
  tool<const I extends Schema | undefined, const O extends Schema | undefined>(
    name: string,
    definition: ToolDefinition<I, O> | ToolDefinitionByCaller<Schema, O>,
    handler: ToolHandler<I, O>,
  ): Registration {
    checkDefinition('tool', name, definition, this.prefix)
    checkTool(this.prefix + name, definition, handler)
    const tool = defineTool(
      this.prefix + name,
      definition,
      handler as Tool['handler'], // it is called with what the input schema's validator returns
      this.declarations.options.jsonSchema,
    )
    checkInputSchema(tool.item.name, tool.item.inputSchema)
    return addEntry(draftOf(this), 'tools', 'tool', tool.item.name, tool, definition)
  }

  /**
   * Registers a resource with a fixed URI, or a template of resources (RFC 6570).
   *
   * @param uri a URI with a scheme, such as `config://app` or `note://{id}`
   * @param handler gets the variables of the template and a `Context` with `uri`, and returns text, bytes, contents or a `resourceResult()`
   * @returns a handle that builds URIs, sends change notifications, and enables and disables the resource
   * @throws Error for an invalid URI or definition, and for a URI that is already registered. The message names the fix
   * @see https://modelcontextprotocol.io/specification/2026-07-28/server/resources
   * @see https://www.rfc-editor.org/rfc/rfc6570
   *
   * @example
   * const note = server.resource('note://{id}', { description: 'A note' }, ({ id }) => `Note ${id}`)
   * await note.updated({ id: '1' })
   */
  resource<const U extends string>(
    uri: U,
    definition: ResourceDefinition<U>,
    handler: ResourceHandler<U>,
  ): ResourceHandle<U> {
    checkDefinition('resource', uri, definition)
    checkResource(uri, handler)
    const resource = defineResource(
      uri,
      definition as unknown as AnyResourceDefinition, // the template names the variables at run time, and U in the types
      handler as Resource['handler'], // as above
    )
    checkTemplate(uri, resource)
    if (globalThis.process?.env?.NODE_ENV !== 'production') checkCompletedVariables(uri, resource)
    const { template } = resource
    const registration = template
      ? addEntry(draftOf(this), 'templates', 'resource', uri, resource, definition)
      : addEntry(draftOf(this), 'resources', 'resource', uri, resource, definition)
    const expand = (variables: object | undefined) =>
      // TemplateVariables<U> is an object of texts, which TypeScript cannot see of any U.
      template ? template.uri((variables ?? {}) as Record<string, string>) : uri
    return {
      ...registration,
      uri: (...variables) => expand(variables[0]),
      updated: (...values) =>
        // The variables of a template come before the recipients.
        this.notify.resourceUpdated(expand(values[0]), values[template ? 1 : 0] as Recipients),
    }
  }

  /**
   * Registers a prompt.
   *
   * @param handler gets the validated arguments and a `Context`, and returns text, content blocks, messages or a `promptResult()`
   * @returns a handle that enables and disables the prompt
   * @throws Error for an invalid definition or schema, and for a name that is already registered. The message names the fix
   * @see https://modelcontextprotocol.io/specification/2026-07-28/server/prompts
   *
   * @example
   * server.prompt('review', { description: 'Review code', argsSchema: z.object({ code: z.string() }) }, ({ code }) => `Review this:\n${code}`)
   */
  prompt<const A extends Schema | undefined = undefined>(
    name: string,
    definition: PromptDefinition<A>,
    handler: PromptHandler<A>,
  ): Registration {
    checkDefinition('prompt', name, definition, this.prefix)
    checkPrompt(this.prefix + name, handler)
    const prompt = definePrompt(
      this.prefix + name,
      definition as unknown as AnyPromptDefinition, // A is a Schema or undefined, and every argument is a text
      handler as Prompt['handler'], // it is called with what the validator of argsSchema returns
      this.declarations.options.jsonSchema,
    )
    checkPromptArguments(prompt)
    if (globalThis.process?.env?.NODE_ENV !== 'production') checkCompletedArguments(prompt)
    return addEntry(draftOf(this), 'prompts', 'prompt', prompt.item.name, prompt, definition)
  }

  /**
   * Validates the schema of an elicitation at startup. Without it, a field that forms cannot show throws when a handler first elicits.
   *
   * @returns the schema, for `ctx.elicit`
   * @throws Error for a field that forms cannot show. The message names the field and the fix
   * @see https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#requested-schema
   *
   * @example
   * const Rating = server.defineForm(z.object({ stars: z.number().int().min(1).max(5) }))
   * server.tool('rate', { description: 'Rate the answer' }, async (_, ctx) => {
   *   const { content } = await ctx.elicit('stars', 'How many stars?', Rating)
   *   return `${content?.stars ?? 'No'} stars`
   * })
   */
  defineForm<const S extends Schema>(schema: S): S {
    readForm(schema, 'form', this.declarations.options.jsonSchema)
    return schema
  }

  /**
   * Calls a module, which registers its part of the server.
   *
   * @param options `prefix` starts the names of its tools and prompts, not its URIs. Default: no prefix
   * @returns the server
   * @throws Error for a module that returns a promise, such as an async function or an interceptor
   *
   * @example
   * server.use((part) => {
   *   part.tool('list', { description: 'List the notes' }, () => 'No notes')
   * }, { prefix: 'notes_' })
   */
  use(module: Module, options: { prefix?: string } = {}): this {
    checkModule(module, options)
    const { prefix = '' } = options
    const part = prefix
      ? new Server(this.declarations.options, { draft: draftOf(this), prefix: this.prefix + prefix })
      : this
    const returned: unknown = module(part)
    if (returned instanceof Promise) {
      // It was given no `next`, for example.
      returned.catch(() => {})
      throw new Error(
        'The module passed to server.use() returned a promise: make it synchronous, or write server.intercept(fn)',
      )
    }
    return this
  }

  /**
   * Counts the subscribers who receive an update of a resource: those of its URI, and those of its template. Each Durable Object of
   * `subscriptions()` is asked, and reads a row for each session. Clients that have disconnected are counted until that is noticed, and
   * sessions until they end.
   *
   * @param recipients counts only those of a tenant or a user. Default: everyone
   * @throws Error when `serve()` has no plugin `subscriptions()` of `edgemcp/subscriptions`, for a URI that no resource or template has, and
   * for invalid recipients
   *
   * @example
   * const { sessions, streams } = await server.subscribers('note://1')
   * if (sessions + streams === 0) console.log('No client waits for updates of note 1')
   */
  subscribers(uri: string, recipients?: TopicRecipients): Promise<SubscriberCount> {
    return draftOf(this).changes.subscribers(uri, recipients)
  }

  /**
   * Adds an interceptor around every step of every call: lists, calls, reads, completions, methods of extensions, and runs of tasks. The
   * interceptor that is added first is outermost. `next()` settles however the step ends, so `finally` also runs when the handler needs
   * input.
   *
   * @returns the server
   * @throws Error for a value that is not a function
   *
   * @example
   * server.intercept(async (call, next) => {
   *   const startMs = Date.now()
   *   try {
   *     return await next()
   *   } finally {
   *     console.log(call.method, call.params.name, Date.now() - startMs)
   *   }
   * })
   */
  intercept(interceptor: Interceptor): this {
    checkInterceptor(interceptor)
    addInterceptors(draftOf(this), [interceptor])
    return this
  }
}

if (globalThis.process?.env?.NODE_ENV !== 'production') refuseOtherMethods(Server.prototype)

function addEntry<K extends EntryKind>(
  draft: DeclarationsDraft,
  kind: K,
  word: string,
  name: string,
  entry: EntryOf<K>,
  { visibleTo, enabled, scopes, listWithoutScopes, rateLimit }: AccessOptions,
): Registration {
  if (draft[kind].has(name)) refuseTwice(word, name)
  const list: List = kind === 'templates' ? 'resources' : kind
  const isVisible = async (caller: Caller) => {
    const isEnabled = (await draft.changes.enabledOverrides())[toggleKey(list, name)] ?? enabled === true
    return isEnabled && (visibleTo ? visibleTo(caller) : true)
  }
  const access: Guarded = {
    scopes,
    listWithoutScopes,
    rateLimit,
    enabled,
    visibleTo: enabled === undefined ? visibleTo : isVisible,
  }
  draft.addEntry(kind, name, { ...entry, ...access })
  const setEnabled = (isEnabled: boolean): Promise<void> =>
    enabled === undefined
      ? Promise.reject(new Error(`The ${word} "${name}" cannot be enabled or disabled: declare it with enabled: true`))
      : // The promise itself: it knows whether the application awaits it.
        draft.changes.setEnabled(list, name, isEnabled)
  return { enable: () => setEnabled(true), disable: () => setEnabled(false) }
}

function refuseTwice(word: string, name: string): never {
  const fix = word === 'resource' ? 'change the URI of one' : 'rename one, or use its module with a prefix'
  throw new Error(`The ${word} "${name}" is registered twice: ${fix}`)
}

/**
 * Creates a server, to declare tools, resources and prompts on. Pass it to `serve()`.
 *
 * @param options `name` and `version` are required
 * @throws Error for an invalid option. The message names the option and the expected value
 *
 * @example
 * const server = createServer({ name: 'hello', version: '1.0.0' })
 * server.tool('greet', { description: 'Greet a person by name', inputSchema: z.object({ name: z.string() }) },
 *   ({ name }) => `Hello, ${name}!`)
 */
export const createServer = (options: ServerOptions): Server => new Server(options)
