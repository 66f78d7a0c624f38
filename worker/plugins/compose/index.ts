/** edgemcp/compose: Mount or proxy other MCP servers, and route requests to several Workers. */

export type { ForwardedEntry } from '../../declarations/forwarded.ts'
export type { ToolOverride, ToolSelection } from '../../declarations/tool-selection.ts'
export type { HeadersContext, ResilienceOptions } from '../../declarations/upstream-options.ts'
export { type MountOptions, mount } from './mount.ts'
export { proxy } from './proxy/proxy.ts'
export type { ProxyOptions } from './proxy/proxy-options.ts'
export { routeByHost } from './route-by-host.ts'
export {
  type McpRpc,
  type RpcEntrypoint,
  type RpcEntrypointOptions,
  type RpcOptions,
  rpcEntrypoint,
} from './rpc-entrypoint.ts'
export { combine, type FetchHandler, routeHandler, type WorkerOrHandler } from './workers.ts'
