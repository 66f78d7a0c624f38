/** edgemcp: MCP servers on Cloudflare Workers, every revision of the protocol from one URL. */
export type { Audit, Auth, Limiter, MadeUpUser, Site, Visit } from './auth/auth.ts'
export type { Policy } from './http/guard.ts'
export type { Limits } from './http/limits.ts'
export { type BrowserPolicy, policies } from './http/policies.ts'
export { ClientError, McpError } from './protocol/errors.ts'
export type { Claims, Principal } from './protocol/principal.ts'
export type * from './protocol/types.ts'
export { logLevels } from './protocol/types.ts'
export { type EdgeWorker, type Page, type ServeOptions, type SessionClass, serve, type UpdatesClass } from './serve.ts'
export type { Caller, Limit, Switch } from './server/caller.ts'
export { audio, embed, failure, image, link, promptResult, resourceResult, text, toolResult } from './server/content.ts'
export type {
  AskOptions,
  Context,
  Elicited,
  Feature,
  Input,
  Jsonify,
  Sampled,
  SampleRequest,
  Visited,
  VisitOptions,
} from './server/context.ts'
export type { MethodCall, Middleware, Next } from './server/middleware.ts'
export type { PromptDefinition, PromptHandler } from './server/prompt.ts'
export type { ResourceDefinition, ResourceHandler } from './server/resource.ts'
export type { Infer, InferInput, Schema, StandardSchema } from './server/schema.ts'
export {
  createServer,
  type Module,
  type ResourceHandle,
  type Server,
  type ServerOptions,
  type Updates,
} from './server/server.ts'
export type { ToolDefinition, ToolHandler } from './server/tool.ts'
