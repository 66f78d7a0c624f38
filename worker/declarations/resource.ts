/** Resources and templates: their definition, and the registered entry. */
import type {
  Annotations,
  Caching,
  Icon,
  Meta,
  ReadResourceResult,
  ResourceItem,
  ResourceTemplateItem,
} from '../protocol/types.ts'
import { type TemplateVariables, type UriTemplate, uriTemplate } from '../protocol/uri-template.ts'
import type { AccessOptions, CallerContext, Guarded } from './caller.ts'
import type { Awaitable, Context } from './context.ts'

/**
 * Completes one variable or argument. Gets the text typed so far, the other values that are known, and the caller.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/completion
 */
export type Completer<Others> = (
  prefix: string,
  context: Partial<Others>,
  caller: CallerContext,
) => Awaitable<readonly string[] | { values: readonly string[]; total?: number; hasMore?: boolean }>

/** Completes variables of a template or arguments of a prompt, by name. */
export type Completions<Values> = { [K in keyof Values]?: Completer<Values> }

/** Describes a listed resource of a template: its variables, and the members that differ from the template. */
export type ListedResource<V> = V & Partial<Omit<ResourceItem, 'uri' | keyof V>>

/**
 * Defines a resource or a template of resources.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/resources#resource
 */
export type ResourceDefinition<U extends string> = AccessOptions & {
  /** Name of the resource. Default: its URI or template. */
  name?: string
  /** Name for users. Default: none. */
  title?: string
  /** Explains what the resource contains. Default: none. */
  description?: string
  /** Media type of the contents, such as `text/markdown`. Default: none. */
  mimeType?: string
  /** Bytes of the contents, for a fixed URI. Default: none. */
  size?: number
  /** Hints for clients: audience, priority, last change. Default: none. */
  annotations?: Annotations
  /** Icons for users. Default: none. */
  icons?: readonly Icon[]
  /** Metadata for clients, sent unchanged. Default: none. */
  _meta?: Meta
  /** How long clients may cache the contents: `ttlMs` milliseconds, for one user (`private`) or for all (`public`). Default: no caching. */
  caching?: Caching
  /**
   * Decides for the variables of a template whether the caller may read and subscribe to the resource. A rejected resource gets the same
   * error as an unknown one. Default: every caller that sees the template.
   */
  authorize?: (caller: CallerContext, variables: TemplateVariables<U>) => Awaitable<boolean>
  /** Returns the resources of a template for `resources/list`. Default: none are listed. */
  list?: (caller: CallerContext) => Awaitable<readonly ListedResource<TemplateVariables<U>>[]>
  /**
   * Completes variables of a template while the user types, by variable. Once all other variables are known, values whose resource
   * `authorize` rejects are omitted; before that, the completer decides what the caller may see. Default: none.
   */
  complete?: Completions<TemplateVariables<U>>
  /**
   * Whether completions omit values whose resource `authorize` rejects. `false` calls `authorize` for no value, if `complete` returns only
   * what the caller may see. Default: true.
   */
  filterCompletions?: boolean
}

/**
 * Accepts what a resource handler may return: text, bytes, contents, a list of these, or a full result; `undefined` or `null` if the resource does
 * not exist.
 */
export type ResourceReturn = ResourcePart | readonly ResourcePart[] | ReadResourceResult | undefined | null

type ResourcePart =
  | string
  | Uint8Array
  | ArrayBuffer
  | ({ uri?: string; mimeType?: string; _meta?: Meta } & ({ text: string } | { blob: string }))

/**
 * Reads a resource. Gets the variables of the template, and returns text, bytes, contents or a full result; `undefined` or `null` if the
 * resource does not exist.
 */
export type ResourceHandler<U extends string> = (
  variables: TemplateVariables<U>,
  ctx: Context & { readonly uri: string },
) => Awaitable<ResourceReturn>

/** A registered resource with a fixed URI. */
export type FixedResource = ResourceFunctions & { readonly item: ResourceItem; readonly template?: undefined }

/** A registered template. */
export type TemplateResource = ResourceFunctions & {
  readonly item: ResourceTemplateItem
  readonly template: UriTemplate
}

/** A registered resource or template. */
export type Resource = FixedResource | TemplateResource

/** The common members of resources and templates. Functions get the variables of the template; those of a fixed URI get an empty object. */
type ResourceFunctions = Guarded & {
  readonly caching: Caching | undefined
  readonly authorize:
    | ((caller: CallerContext, variables: Record<string, string | string[]>) => Awaitable<boolean>)
    | undefined
  readonly list: ((caller: CallerContext) => Awaitable<readonly ListedResource<Record<string, string>>[]>) | undefined
  readonly complete: Completions<Record<string, string>>
  readonly filterCompletions: boolean
  readonly handler: (variables: Record<string, string | string[]>, ctx: Context & { readonly uri: string }) => unknown
}

/** A definition whose functions accept the variables of any template. */
export type AnyResourceDefinition = Omit<ResourceDefinition<string>, 'authorize' | 'list' | 'complete'> &
  Partial<Pick<Resource, 'authorize' | 'list' | 'complete'>>

/** Parses the URI of a resource, and builds its entry. @throws Error for an invalid template. The message names the fix */
export function defineResource(uri: string, definition: AnyResourceDefinition, handler: Resource['handler']): Resource {
  const { name = uri, title, description, mimeType, size, annotations, icons, _meta } = definition
  const { caching, visibleTo, authorize, list, complete = {}, filterCompletions = true } = definition
  const template = /[{}]/.test(uri) ? uriTemplate(uri) : undefined
  const common = { name, title, description, mimeType, annotations, icons, _meta }
  const item = template ? { uriTemplate: uri, ...common } : { uri, ...common, size }
  const functions = { visibleTo, authorize, list, complete, filterCompletions, handler }
  return { item: JSON.parse(JSON.stringify(item)), template, caching, ...functions }
}
