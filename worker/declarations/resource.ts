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
import type { AccessOptions, Caller, Guarded } from './caller.ts'
import type { Awaitable, Context } from './context.ts'

/** Completes one variable or argument, from what has been typed so far, the values of the others that are known, and the caller. */
export type Completer<Others> = (
  prefix: string,
  context: Partial<Others>,
  caller: Caller,
) => Awaitable<readonly string[] | { values: readonly string[]; total?: number; hasMore?: boolean }>

export type Completions<Values> = { [K in keyof Values]?: Completer<Values> }

/** One resource of a template, as listed: its variables, and what is different from the template. */
export type ListedResource<V> = V & Partial<Omit<ResourceItem, 'uri' | keyof V>>

export type ResourceDefinition<U extends string> = AccessOptions & {
  /** Defaults to the URI or template. */
  name?: string
  title?: string
  description: string
  mimeType?: string
  /** Bytes, of a fixed resource. */
  size?: number
  annotations?: Annotations
  icons?: Icon[]
  _meta?: Meta
  /** How long a client may keep what it read. */
  caching?: Caching
  /**
   * Decides by its variables whether a caller may read and subscribe to a resource of the template. Default: every caller that sees the template.
   * What it hides is answered like something that does not exist.
   */
  authorize?: (caller: Caller, variables: TemplateVariables<U>) => Awaitable<boolean>
  /** The resources of a template that are worth listing. */
  list?: (caller: Caller) => Awaitable<readonly ListedResource<TemplateVariables<U>>[]>
  /**
   * Completes a template's variables. Once all others are known, values of resources that `authorize` hides from the caller are
   * left out; until then the completer decides what the caller may know.
   */
  complete?: Completions<TemplateVariables<U>>
}

/** What a resource may return: text, bytes, contents, several of them, a full result; nothing when it does not exist. */
export type ResourceReturn = ResourcePart | readonly ResourcePart[] | ReadResourceResult | undefined | null

type ResourcePart =
  | string
  | Uint8Array
  | ArrayBuffer
  | ({ uri?: string; mimeType?: string; _meta?: Meta } & ({ text: string } | { blob: string }))

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

/** What resources and templates have in common. A function gets the variables of its template; those of a fixed URI are none. */
type ResourceFunctions = Guarded & {
  readonly caching: Caching | undefined
  readonly authorize: ((caller: Caller, variables: Record<string, string | string[]>) => Awaitable<boolean>) | undefined
  readonly list: ((caller: Caller) => Awaitable<readonly ListedResource<Record<string, string>>[]>) | undefined
  readonly complete: Completions<Record<string, string>>
  readonly handler: (variables: Record<string, string | string[]>, ctx: Context & { readonly uri: string }) => unknown
}

/** A definition whose functions get the variables of any template. */
export type AnyResourceDefinition = Omit<ResourceDefinition<string>, 'authorize' | 'list' | 'complete'> &
  Partial<Pick<Resource, 'authorize' | 'list' | 'complete'>>

/** @throws Error with one sentence that names the fix */
export function defineResource(uri: string, definition: AnyResourceDefinition, handler: Resource['handler']): Resource {
  const { name = uri, title, description, mimeType, size, annotations, icons, _meta } = definition
  const { caching, visibleTo, authorize, list, complete = {} } = definition
  const template = /[{}]/.test(uri) ? uriTemplate(uri) : undefined
  const common = { name, title, description, mimeType, annotations, icons, _meta }
  const item = template ? { uriTemplate: uri, ...common } : { uri, ...common, size }
  return { item: JSON.parse(JSON.stringify(item)), template, caching, visibleTo, authorize, list, complete, handler }
}
