/** edgemcp: Declare an MCP server once, and serve it on Cloudflare Workers to clients of every protocol version. */

export type { CallAttempt } from './declarations/call-attempt.ts'
export type { AccessOptions, Caller, CallerContext, RateLimit, Registration } from './declarations/caller.ts'
export type { Changes } from './declarations/change-hub.ts'
export type {
  ClientEvent,
  SessionEndEvent,
  SubscriptionEvent,
} from './declarations/client-hooks.ts'
export { audio, embeddedResource, image, resourceLink, text } from './declarations/content.ts'
export type {
  AskOptions,
  Awaitable,
  ClientFeature,
  Context,
  ContextMembers,
  FormResult,
  InputResponse,
  Jsonify,
  PluginContext,
  SamplingRequest,
  SamplingResult,
  UrlElicitationOptions,
  UrlElicitationResult,
} from './declarations/context.ts'
export type {
  Declarations,
  ExtraSubscription,
  Instrumented,
  Open,
  SubscriptionTopics,
} from './declarations/declarations.ts'
export type { Duration } from './declarations/duration.ts'
export type { FailedCall, HandleFailure, HandlerErrors, OnError } from './declarations/failure.ts'
export type { HttpRequest } from './declarations/http-request.ts'
export type { CallInfo, Interceptor, Next } from './declarations/interceptor.ts'
export type { InputRequiredOutcome, Journal, Outcome, ResultOutcome, SuspendedOutcome } from './declarations/outcome.ts'
export type { PromptDefinition, PromptHandler, PromptInput, PromptReturn } from './declarations/prompt.ts'
export { type RequestContext, type Secret, secret } from './declarations/request-context.ts'
export type {
  Completer,
  Completions,
  ListedResource,
  ResourceDefinition,
  ResourceHandler,
  ResourceReturn,
} from './declarations/resource.ts'
export { promptResult, resourceResult, toolError, toolResult } from './declarations/result-constructors.ts'
export type { Infer, InferInput, JsonSchemaReader, Schema, StandardSchema } from './declarations/schema.ts'
export {
  type ChangeNotifier,
  createServer,
  type Module,
  type ResourceHandle,
  type Server,
} from './declarations/server.ts'
export type { ServerOptions } from './declarations/server-options.ts'
export type { StoredByIssuer, StoredPrincipals } from './declarations/stored-principal.ts'
export type { ToolDefinition, ToolDefinitionByCaller, ToolHandler, ToolInput, ToolReturn } from './declarations/tool.ts'
export type { Call, CallEnvironment, Seals } from './engine/call.ts'
export type { Method, MethodContext } from './engine/methods/method.ts'
export { type PageCursor, type PageCursorOptions, pageCursor } from './engine/page-cursor.ts'
export type { BrowserOptions } from './http/check-origins-and-hosts.ts'
export type { CorsOptions } from './http/cors.ts'
export { createGuard, type Guard, type GuardOptions } from './http/guard.ts'
export type { Limits } from './http/limits.ts'
export type { Policy } from './http/origin-and-host.ts'
export { policies } from './http/policies.ts'
export type { OpenStream, Transport, TransportPost, TransportRoute } from './http/transport.ts'
export type {
  AnyPlugin,
  Auth,
  ClassesOf,
  ClassesOfAuth,
  DurableObjectClass,
  Plugin,
  Provided,
  Route,
  Runtime,
} from './plugin.ts'
export { ClientError, type ErrorKind, McpError, ToolError } from './protocol/errors.ts'
export type { Message, NotificationMessage, RequestMessage } from './protocol/jsonrpc.ts'
export type { Claims, Principal } from './protocol/principal.ts'
export type * from './protocol/types.ts'
export { logLevels } from './protocol/types.ts'
export type { TemplateVariables } from './protocol/uri-template.ts'
export type {
  AuditHook,
  Credential,
  CredentialForm,
  IncomingRequest,
  Limiter,
  RequestAuth,
  ServerInfo,
  TestUser,
} from './request-hooks.ts'
export { serve } from './serve.ts'
export type { DurableObjectOptions, ReadRequestContext, ServeOptions } from './serve-options.ts'
export type { ServedWorker } from './served-worker.ts'
export type { Tenant, Tenants } from './tenants.ts'
