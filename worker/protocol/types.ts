/**
 * Types of MCP 2026-07-28, in the order of its schema. Handlers, declarations and the engine use these shapes only; the other protocol
 * versions are differences from them, in revisions/.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/schema
 */

/** Describes any JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined }

/** Describes a JSON object with any members. */
export type Params = Record<string, unknown>

/** Describes `_meta`: metadata by key, such as `example.com/color`. */
export type Meta = Record<string, unknown>

/** Identifies a request: a string or a safe integer. The response repeats it with its type. */
export type RequestId = string | number

// Identity

/** Describes an icon for users. */
export type Icon = {
  /** An https or data URI. */
  src: string
  mimeType?: string
  /** Sizes such as `48x48`, or `any`. */
  sizes?: readonly string[]
  theme?: 'light' | 'dark'
}

/** Names a client or a server, and its version. */
export type Implementation = {
  name: string
  version: string
  title?: string
  description?: string
  icons?: readonly Icon[]
  websiteUrl?: string
}

/** Lists the features that a client supports. */
export type ClientCapabilities = {
  roots?: Params
  sampling?: { context?: Params; tools?: Params }
  elicitation?: { form?: Params; url?: Params }
  extensions?: Record<string, Params>
  /** Requests of the server that a client of 2025-11-25 can answer with a task, by the parts of the method, such as `sampling.createMessage`. */
  tasks?: { requests?: Readonly<Record<string, Params>> }
  experimental?: Params
}

/** Lists the features that a server supports. */
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

/** Names the author of a message: the user, or the model. */
export type Role = 'user' | 'assistant'

/** Gives clients hints about content and resources. */
export type Annotations = {
  audience?: readonly Role[]
  /** From 0 (least important) to 1 (most important). */
  priority?: number
  /** Time of the last change, in ISO 8601 with an offset, such as `2026-07-28T12:30:00Z`. */
  lastModified?: string
}

type Block = { annotations?: Annotations; _meta?: Meta }

/** Holds text. */
export type TextContent = Block & { type: 'text'; text: string }
/** Holds an image: `data` is base64. */
export type ImageContent = Block & { type: 'image'; data: string; mimeType: string }
/** Holds a recording: `data` is base64. */
export type AudioContent = Block & { type: 'audio'; data: string; mimeType: string }
/** Links to a resource that the client may read. */
export type ResourceLink = Block & { type: 'resource_link' } & Omit<ResourceItem, 'annotations' | '_meta'>
/** Contains a resource. */
export type EmbeddedResource = Block & { type: 'resource'; resource: ResourceContents }
/** Holds one part of a result or a message. */
export type ContentBlock = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource

/** Holds the contents of a resource: `text`, or `blob` in base64. */
export type ResourceContents = { uri: string; mimeType?: string; _meta?: Meta } & ({ text: string } | { blob: string })

// Tools, resources, prompts

/** Gives clients hints about the side effects of a tool. */
export type ToolAnnotations = {
  title?: string
  readOnlyHint?: boolean
  destructiveHint?: boolean
  idempotentHint?: boolean
  openWorldHint?: boolean
}

/** Describes a JSON Schema, draft 2020-12. */
export type JsonSchema = { readonly [key: string]: unknown }

/** Describes a listed tool. */
export type ToolItem = {
  name: string
  title?: string
  description?: string
  inputSchema: JsonSchema
  outputSchema?: JsonSchema
  annotations?: ToolAnnotations
  icons?: readonly Icon[]
  _meta?: Meta
}

/** Describes a listed resource. */
export type ResourceItem = {
  uri: string
  name: string
  title?: string
  description?: string
  mimeType?: string
  /** Bytes of the contents. */
  size?: number
  annotations?: Annotations
  icons?: readonly Icon[]
  _meta?: Meta
}

/** Describes a listed template of resources. */
export type ResourceTemplateItem = Omit<ResourceItem, 'uri' | 'size'> & {
  /** The template, as in RFC 6570. */
  uriTemplate: string
}

/** Describes an argument of a prompt. */
export type PromptArgument = { name: string; title?: string; description?: string; required?: boolean }

/** Describes a listed prompt. */
export type PromptItem = {
  name: string
  title?: string
  description?: string
  arguments?: readonly PromptArgument[]
  icons?: readonly Icon[]
  _meta?: Meta
}

/** Holds a message of a prompt. */
export type PromptMessage = { role: Role; content: ContentBlock }

// Results

/** States who may cache a result: any client (`public`), or the client of one user (`private`). */
export type CacheScope = 'public' | 'private'

/** States how long a result may be cached, in milliseconds, and by whom. */
export type Caching = { ttlMs: number; cacheScope: CacheScope }

/** Holds the result of any request. */
export type Result = { resultType?: string; _meta?: Meta; [key: string]: unknown }

/** Holds the result of a tool call. */
export type CallToolResult = {
  content: ContentBlock[]
  structuredContent?: unknown
  isError?: boolean
  _meta?: Meta
}

/** Holds the contents of a resource that was read. */
export type ReadResourceResult = { contents: readonly ResourceContents[]; _meta?: Meta }

/** Holds the messages of a prompt. */
export type GetPromptResult = { description?: string; messages: readonly PromptMessage[]; _meta?: Meta }

/** Holds proposed values for an argument or a variable. */
export type Completion = { values: readonly string[]; total?: number; hasMore?: boolean }

// Input requests

/** Describes a request to the client during a call: elicitation, sampling or roots. */
export type InputRequest =
  | { method: 'elicitation/create'; params: Params }
  | { method: 'sampling/createMessage'; params: Params }
  | { method: 'roots/list'; params?: Params }

/** Holds the response of the user to an elicitation. */
export type ElicitResult = { action: 'accept' | 'decline' | 'cancel'; content?: Params }

/** Holds a message of a sampling request. */
export type SamplingMessage = { role: Role; content: SamplingContent | readonly SamplingContent[] }
/** Holds one part of a message of a sampling request. */
export type SamplingContent =
  | TextContent
  | ImageContent
  | AudioContent
  | { type: 'tool_use'; id: string; name: string; input: Params; _meta?: Meta }
  | {
      type: 'tool_result'
      toolUseId: string
      content: readonly ContentBlock[]
      structuredContent?: unknown
      isError?: boolean
      _meta?: Meta
    }

/** States what matters in the choice of a model. Priorities are from 0 to 1. */
export type ModelPreferences = {
  hints?: readonly { name?: string }[]
  costPriority?: number
  speedPriority?: number
  intelligencePriority?: number
}

/** Holds the params of a sampling request. */
export type CreateMessageParams = {
  messages: readonly SamplingMessage[]
  maxTokens: number
  systemPrompt?: string
  modelPreferences?: ModelPreferences
  includeContext?: 'none' | 'thisServer' | 'allServers'
  temperature?: number
  stopSequences?: readonly string[]
  metadata?: Params
  tools?: readonly ToolItem[]
  toolChoice?: { mode?: 'auto' | 'required' | 'none' }
}

/** Holds the message of the client's model. */
export type CreateMessageResult = {
  role: Role
  content: SamplingContent | SamplingContent[]
  model: string
  stopReason?: string
}

/** Describes a root: a folder or file that the user works in. */
export type Root = { uri: string; name?: string; _meta?: Meta }

// Notifications

/**
 * Lists the log levels, from the least to the most severe.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/logging#log-levels
 */
export const logLevels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const
/** Names a log level. */
export type LogLevel = (typeof logLevels)[number]

/** Describes a notification that a server sends. */
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
  /** Of the tasks extension, and of the experimental tasks before it. */
  | { method: 'notifications/tasks' | 'notifications/tasks/status'; params: Params }
  /** Of older protocol versions. */
  | { method: 'notifications/elicitation/complete'; params: { elicitationId: string } }

/** Selects the notifications of a `subscriptions/listen` request. */
export type SubscriptionFilter = {
  toolsListChanged?: boolean
  promptsListChanged?: boolean
  resourcesListChanged?: boolean
  resourceSubscriptions?: string[]
}
