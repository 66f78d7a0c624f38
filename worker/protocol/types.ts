/**
 * The vocabulary of revision 2026-07-28, in the order of its schema. Handlers, declarations and the engine know these shapes
 * only; older revisions are told as differences in revisions/.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/schema
 */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined }

/** A JSON object whose members are not known further. */
export type Params = Record<string, unknown>

export type Meta = Record<string, unknown>

/** A request id: a string or a safe integer, repeated in the answer with its exact type. */
export type RequestId = string | number

// Identity

export type Icon = {
  /** An https or data URI. */
  src: string
  mimeType?: string
  /** For example `48x48` or `any`. */
  sizes?: string[]
  theme?: 'light' | 'dark'
}

export type Implementation = {
  name: string
  version: string
  title?: string
  description?: string
  icons?: Icon[]
  websiteUrl?: string
}

export type ClientCapabilities = {
  roots?: Params
  sampling?: { context?: Params; tools?: Params }
  elicitation?: { form?: Params; url?: Params }
  extensions?: Record<string, Params>
  experimental?: Params
}

export type ServerCapabilities = {
  tools?: { listChanged?: boolean }
  resources?: { subscribe?: boolean; listChanged?: boolean }
  prompts?: { listChanged?: boolean }
  completions?: Params
  logging?: Params
  extensions?: Record<string, Params>
  experimental?: Params
}

// Content

export type Role = 'user' | 'assistant'

export type Annotations = {
  audience?: Role[]
  /** 0 (least) to 1 (most important). */
  priority?: number
  /** ISO 8601. */
  lastModified?: string
}

type Block = { annotations?: Annotations; _meta?: Meta }

export type TextContent = Block & { type: 'text'; text: string }
/** `data` is base64. */
export type ImageContent = Block & { type: 'image'; data: string; mimeType: string }
/** `data` is base64. */
export type AudioContent = Block & { type: 'audio'; data: string; mimeType: string }
export type ResourceLink = Block & { type: 'resource_link' } & Omit<ResourceItem, 'annotations' | '_meta'>
export type EmbeddedResource = Block & { type: 'resource'; resource: ResourceContents }
export type ContentBlock = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource

export type ResourceContents = { uri: string; mimeType?: string; _meta?: Meta } & ({ text: string } | { blob: string })

// Tools, resources, prompts

export type ToolAnnotations = {
  title?: string
  readOnlyHint?: boolean
  destructiveHint?: boolean
  idempotentHint?: boolean
  openWorldHint?: boolean
}

export type JsonSchema = { readonly [key: string]: unknown }

export type ToolItem = {
  name: string
  title?: string
  description?: string
  inputSchema: JsonSchema
  outputSchema?: JsonSchema
  annotations?: ToolAnnotations
  icons?: Icon[]
  _meta?: Meta
}

export type ResourceItem = {
  uri: string
  name: string
  title?: string
  description?: string
  mimeType?: string
  /** Bytes. */
  size?: number
  annotations?: Annotations
  icons?: Icon[]
  _meta?: Meta
}

export type ResourceTemplateItem = Omit<ResourceItem, 'uri' | 'size'> & {
  /** RFC 6570. */
  uriTemplate: string
}

export type PromptArgument = { name: string; title?: string; description?: string; required?: boolean }

export type PromptItem = {
  name: string
  title?: string
  description?: string
  arguments?: PromptArgument[]
  icons?: Icon[]
  _meta?: Meta
}

export type PromptMessage = { role: Role; content: ContentBlock }

// Results

export type CacheScope = 'public' | 'private'

/** How long an answer may be kept, in milliseconds, and by whom. */
export type Caching = { ttlMs: number; cacheScope: CacheScope }

export type Result = { resultType?: string; _meta?: Meta; [key: string]: unknown }

export type CallToolResult = {
  content: ContentBlock[]
  structuredContent?: unknown
  isError?: boolean
  _meta?: Meta
}

export type ReadResourceResult = { contents: ResourceContents[]; _meta?: Meta }

export type GetPromptResult = { description?: string; messages: PromptMessage[]; _meta?: Meta }

export type Completion = { values: string[]; total?: number; hasMore?: boolean }

// Questions to the client

export type InputRequest =
  | { method: 'elicitation/create'; params: Params }
  | { method: 'sampling/createMessage'; params: Params }
  | { method: 'roots/list'; params?: Params }

export type ElicitResult = { action: 'accept' | 'decline' | 'cancel'; content?: Params }

export type SamplingMessage = { role: Role; content: SamplingContent | SamplingContent[] }
export type SamplingContent =
  | TextContent
  | ImageContent
  | AudioContent
  | { type: 'tool_use'; id: string; name: string; input: Params; _meta?: Meta }
  | {
      type: 'tool_result'
      toolUseId: string
      content: ContentBlock[]
      structuredContent?: unknown
      isError?: boolean
      _meta?: Meta
    }

export type ModelPreferences = {
  hints?: { name?: string }[]
  costPriority?: number
  speedPriority?: number
  intelligencePriority?: number
}

export type CreateMessageParams = {
  messages: SamplingMessage[]
  maxTokens: number
  systemPrompt?: string
  modelPreferences?: ModelPreferences
  includeContext?: 'none' | 'thisServer' | 'allServers'
  temperature?: number
  stopSequences?: string[]
  metadata?: Params
  tools?: ToolItem[]
  toolChoice?: { mode?: 'auto' | 'required' | 'none' }
}

export type CreateMessageResult = {
  role: Role
  content: SamplingContent | SamplingContent[]
  model: string
  stopReason?: string
}

export type Root = { uri: string; name?: string; _meta?: Meta }

// Notifications

/** Least to most severe. */
export const logLevels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const
export type LogLevel = (typeof logLevels)[number]

export type Notification =
  | {
      method: 'notifications/progress'
      params: { progressToken: RequestId; progress: number; total?: number; message?: string }
    }
  | { method: 'notifications/message'; params: { level: LogLevel; logger?: string; data: unknown } }
  | { method: 'notifications/tools/list_changed'; params?: Params }
  | { method: 'notifications/prompts/list_changed'; params?: Params }
  | { method: 'notifications/resources/list_changed'; params?: Params }
  | { method: 'notifications/resources/updated'; params: { uri: string; _meta?: Meta } }
  | { method: 'notifications/subscriptions/acknowledged'; params: Params }
  | { method: 'notifications/cancelled'; params: { requestId: RequestId; reason?: string } }
  /** The tasks extension, and the experimental tasks before it. */
  | { method: 'notifications/tasks' | 'notifications/tasks/status'; params: Params }
  /** Older revisions only. */
  | { method: 'notifications/elicitation/complete'; params: { elicitationId: string } }

/** What a `subscriptions/listen` request asks to hear. */
export type SubscriptionFilter = {
  toolsListChanged?: boolean
  promptsListChanged?: boolean
  resourcesListChanged?: boolean
  resourceSubscriptions?: string[]
}
