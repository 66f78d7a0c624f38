/** edgemcp: Declare an MCP server once, and serve it on Cloudflare Workers to clients of every protocol version. */

export type { Caller, RateLimit, Registration } from './declarations/caller.ts'
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
} from './declarations/content.ts'
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
} from './declarations/context.ts'
export type { Declarations } from './declarations/declarations.ts'
export type { Duration } from './declarations/duration.ts'
export type { CallInfo, Interceptor, Next } from './declarations/interceptor.ts'
export type { InputRequiredOutcome, Outcome, ResultOutcome, SuspendedOutcome } from './declarations/outcome.ts'
export type { PromptDefinition, PromptHandler } from './declarations/prompt.ts'
export type { ResourceDefinition, ResourceHandler } from './declarations/resource.ts'
export type { Infer, InferInput, Schema, StandardSchema } from './declarations/schema.ts'
export {
  type ChangeNotifier,
  createServer,
  type Module,
  type ResourceHandle,
  type Server,
  type ServerOptions,
} from './declarations/server.ts'
export type { ToolDefinition, ToolHandler } from './declarations/tool.ts'
export type { Method, MethodContext } from './engine/methods/method.ts'
export type { Limits } from './http/limits.ts'
export type { Policy } from './http/origin-and-host.ts'
export { type BrowserOptions, policies } from './http/policies.ts'
export type {
  AnyPlugin,
  ClassesOf,
  DurableObjectClass,
  Plugin,
  Route,
  Runtime,
  SubscriptionStream,
  SubscriptionsFeature,
} from './plugin.ts'
export { ClientError, McpError } from './protocol/errors.ts'
export type { Claims, Principal } from './protocol/principal.ts'
export type * from './protocol/types.ts'
export { logLevels } from './protocol/types.ts'
export type { AuditHook, Auth, IncomingRequest, Limiter, ServerInfo, TestUser } from './request-hooks.ts'
export {
  type DurableObjectOptions,
  type McpWorker,
  type ServeOptions,
  type SessionClass,
  serve,
} from './serve.ts'
