import { type Change, type List, type Recipients, toggleKey } from '../protocol/changes.ts'
import type { Caching, Implementation, Params } from '../protocol/types.ts'
import type { TemplateVariables } from '../protocol/uri-template.ts'
import type { AccessOptions, Caller, Guarded, Registration } from './caller.ts'
import { checkDefinition, refuseMethodsOfSdk } from './check-definition.ts'
import {
  checkInterceptor,
  checkModule,
  checkPrompt,
  checkPromptArguments,
  checkResource,
  checkServerOptions,
  checkTemplate,
  checkTool,
  checkToolSchemas,
} from './checks.ts'
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
import type { JsonSchemaReader, Schema } from './schema.ts'
import { defineTool, type Tool, type ToolDefinition, type ToolHandler } from './tool.ts'

export type ServerOptions = Implementation & {
  /** Instructions for the model, which clients may add to its context. */
  instructions?: string
  /** Experimental capabilities to declare, by name, with their settings. Default: none. */
  experimental?: Readonly<Record<string, Params>>
  /** How long clients may cache lists, and for whom. Default: not at all. */
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

/** What a developer declares: tools, resources and prompts, each once, for every revision of the protocol. */
export class Server {
  /** What has been declared so far. */
  readonly declarations: Declarations
  /** Sends change notifications, from anywhere in the application. */
  readonly notify: ChangeNotifier
  /** Goes before the names of the tools and prompts that are declared here: a module's, where `use` was given one. Default: none. */
  readonly prefix: string

  /** @param shared the declarations that it adds to, and its prefix, if it is a part of another server */
  constructor(options: ServerOptions, shared?: { readonly draft: DeclarationsDraft; readonly prefix: string }) {
    checkServerOptions(options)
    this.prefix = shared?.prefix ?? ''
    const draft = shared?.draft ?? new DeclarationsDraft(options)
    this.declarations = draft
    registerDraft(this, draft)
    const publish = (change: Change, recipients?: Recipients) => draft.changes.publish(change, recipients)
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
    checkDefinition('tool', this.prefix + name, definition)
    checkTool(this.prefix + name, definition, handler)
    const tool = defineTool(
      this.prefix + name,
      definition,
      handler as Tool['handler'], // it is called with what the input schema's validator returns
      this.declarations.options.jsonSchema,
    )
    checkToolSchemas(tool)
    return addEntry(draftOf(this), 'tools', 'tool', tool.item.name, tool, definition)
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
    checkDefinition('resource', uri, definition)
    checkResource(uri, definition, handler)
    const resource = defineResource(
      uri,
      definition as unknown as AnyResourceDefinition, // the template names the variables at run time, and U in the types
      handler as Resource['handler'], // as above
    )
    checkTemplate(uri, resource)
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
    checkDefinition('prompt', this.prefix + name, definition)
    checkPrompt(this.prefix + name, definition, handler)
    const prompt = definePrompt(
      this.prefix + name,
      definition as unknown as AnyPromptDefinition, // A is a Schema or undefined, and every argument is a text
      handler as Prompt['handler'], // it is called with what the validator of argsSchema returns
      this.declarations.options.jsonSchema,
    )
    checkPromptArguments(prompt)
    return addEntry(draftOf(this), 'prompts', 'prompt', prompt.item.name, prompt, definition)
  }

  /**
   * Reads the schema of an elicitation now, so that a field that no form can show is an error at startup, not when a handler first elicits.
   *
   * @returns the schema, for `ctx.elicit`
   * @throws Error with one sentence that names the field and the fix
   */
  defineForm<const S extends Schema>(schema: S): S {
    readForm(schema, 'form', this.declarations.options.jsonSchema)
    return schema
  }

  /**
   * Runs a module, which registers its part of the server at once.
   *
   * @param options `prefix` goes before the names of its tools and prompts; URIs have their schemes. Default: none
   * @throws Error for a module that is async, and for an interceptor
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
    checkInterceptor(interceptor)
    addInterceptors(draftOf(this), [interceptor])
    return this
  }
}

refuseMethodsOfSdk(Server.prototype)

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
  const setEnabled = async (isEnabled: boolean) => {
    if (enabled === undefined) {
      throw new Error(`The ${word} "${name}" cannot be enabled or disabled: declare it with enabled: true`)
    }
    await draft.changes.setEnabled(list, name, isEnabled)
  }
  return { enable: () => setEnabled(true), disable: () => setEnabled(false) }
}

function refuseTwice(word: string, name: string): never {
  const fix = word === 'resource' ? 'give one another URI' : 'rename one, or plug its module in with a prefix'
  throw new Error(`The ${word} "${name}" is registered twice: ${fix}`)
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
