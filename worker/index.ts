/** edgemcp: MCP servers on Cloudflare Workers, every revision of the protocol from one URL. */
export type { AuditHook, Auth, IncomingRequest, Limiter, ServerInfo, TestUser } from './auth/auth.ts'
export type { Method, MethodContext } from './engine/methods/method.ts'
export type { Policy } from './http/guard.ts'
export type { Limits } from './http/limits.ts'
export { type BrowserOptions, policies } from './http/policies.ts'
export type {
  AnyPlugin,
  ClassesOf,
  DurableObjectClass,
  Plugin,
  Route,
  Runtime,
  SubscriptionsFeature,
} from './plugin.ts'
export { ClientError, McpError } from './protocol/errors.ts'
export type { Claims, Principal } from './protocol/principal.ts'
export type * from './protocol/types.ts'
export { logLevels } from './protocol/types.ts'
export {
  type DurableObjectOptions,
  type McpWorker,
  type ServeOptions,
  type SessionClass,
  serve,
  type UpdatesClass,
} from './serve.ts'
export type { Caller, RateLimit, Registration } from './server/caller.ts'
export {
  audio,
  embeddedResource,
  image,
  promptResult,
  resourceLink,
  resourceResult,
  text,
  toolError,
  toolResult,
} from './server/content.ts'
export type {
  AskOptions,
  ClientFeature,
  Context,
  FormResult,
  InputResponse,
  Jsonify,
  SamplingRequest,
  SamplingResult,
  UrlElicitationOptions,
  UrlElicitationResult,
} from './server/context.ts'
export type { CallInfo, Interceptor, Next } from './server/interceptor.ts'
export type { InputRequiredOutcome, Outcome, ResultOutcome, SuspendedOutcome } from './server/outcome.ts'
export type { PromptDefinition, PromptHandler } from './server/prompt.ts'
export type { ResourceDefinition, ResourceHandler } from './server/resource.ts'
export type { Infer, InferInput, Schema, StandardSchema } from './server/schema.ts'
export {
  createServer,
  type Module,
  type Registry,
  type ResourceHandle,
  type Server,
  type ServerOptions,
  type Updates,
} from './server/server.ts'
export type { ToolDefinition, ToolHandler } from './server/tool.ts'
