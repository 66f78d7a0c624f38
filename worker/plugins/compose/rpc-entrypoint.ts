import { WorkerEntrypoint } from 'cloudflare:workers'
import { checkOptions, type Kind } from '../../declarations/check-options.ts'
import type { Declarations } from '../../declarations/declarations.ts'
import { resolve } from '../../engine/resolve.ts'
import { encodeHeader, parameterHeaders } from '../../protocol/param-headers.ts'
import { newestRevision } from '../../protocol/revisions/index.ts'
import { enveloped, requestHeaders } from '../../protocol/stateless-request.ts'
import type { CallToolResult, Params, Result } from '../../protocol/types.ts'
import type { ServedWorker } from '../../served-worker.ts'
import { checkServed } from './workers.ts'

/** Configures one call through a service binding. */
export type RpcOptions = {
  /** Bearer token, for a server with `auth`. Default: none. */
  token?: string
}

/** Configures `rpcEntrypoint()`. */
export type RpcEntrypointOptions = {
  /** Public URL of the endpoint, which is the audience of its tokens. Default: `http://localhost` and the path of the endpoint. */
  url?: string
}

/** Calls a server through a service binding. */
export interface McpRpc {
  /** Calls any method. @throws Error with the message of a JSON-RPC error */
  request(method: string, params?: Params, options?: RpcOptions): Promise<Result>
  /** Calls a tool. @throws Error with the message of a JSON-RPC error */
  callTool(name: string, args?: Params, options?: RpcOptions): Promise<CallToolResult>
  /** Reads a resource. @throws Error with the message of a JSON-RPC error */
  readResource(uri: string, options?: RpcOptions): Promise<Result>
}

/** Types an entrypoint with the methods of `McpRpc`. */
export type RpcEntrypoint = new (ctx: ExecutionContext, env: Cloudflare.Env) => WorkerEntrypoint & McpRpc

const { date } = newestRevision
const envelope = { capabilities: {}, client: { name: 'service binding', version: '1' } }

const absoluteUrl: Kind = [
  (value) => typeof value === 'string' && URL.canParse(value),
  'a URL such as "https://mcp.example.com/mcp"',
]

/** Returns the headers that repeat what a method of an extension, or the schema of a tool, names. The server rejects requests without them. */
function headersOfServer(declarations: Declarations, method: string, params: Params): Record<string, string> {
  const target = resolve(declarations, { method, params })
  const named = target.callIn(newestRevision)?.named
  const name = named && params[named]
  return {
    ...(typeof name === 'string' && { 'Mcp-Name': encodeHeader(name) }),
    ...parameterHeaders(target.found.tool?.mirrored ?? [], params.arguments),
  }
}

/**
 * Creates an entrypoint through which other Workers of the account call a server, by a service binding. Authentication and scopes apply as
 * over HTTP. A call that needs input fails, because the entrypoint has no user.
 *
 * @throws Error for an invalid argument. The message names the fix
 * @see https://developers.cloudflare.com/workers/runtime-apis/bindings/service-bindings/rpc/
 *
 * @example
 * export const McpEntrypoint = rpcEntrypoint(worker, { url: 'https://notes.example.com/mcp' })
 * // In the other Worker, whose binding NOTES has the entrypoint "McpEntrypoint":
 * const { content } = await env.NOTES.callTool('search', { words: 'tea' })
 */
export function rpcEntrypoint(worker: ServedWorker, endpoint: RpcEntrypointOptions = {}): RpcEntrypoint {
  checkServed('rpcEntrypoint()', worker)
  checkOptions('rpcEntrypoint()', endpoint, { url: absoluteUrl })
  if (worker.isOfTenant && endpoint.url === undefined) {
    throw new Error(
      "rpcEntrypoint() calls one tenant of this Worker: name its URL, as in { url: 'https://mcp.example.com/acme/mcp' }",
    )
  }
  const { url = `http://localhost${worker.paths.mcp}` } = endpoint
  return class McpEntrypoint extends WorkerEntrypoint implements McpRpc {
    async request(method: string, params: Params = {}, { token }: RpcOptions = {}): Promise<Result> {
      const incoming = new Request(url, {
        method: 'POST',
        headers: {
          'Content-Type': 'application/json',
          Accept: 'application/json',
          ...requestHeaders(date, method, params),
          ...headersOfServer(worker.server.declarations, method, params),
          ...(token && { Authorization: `Bearer ${token}` }),
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: enveloped(params, date, envelope) }),
      })
      const response = await worker.fetch(incoming, this.env, this.ctx)
      // A response of this server to one request is a JSON-RPC response.
      const { result, error } = (await response.json()) as { result?: Result; error?: { message: string } }
      if (result) return result
      throw new Error(error?.message ?? `The server answered with ${response.status}`)
    }

    async callTool(name: string, args: Params = {}, options?: RpcOptions): Promise<CallToolResult> {
      // This server returns it for tools/call.
      return (await this.request('tools/call', { name, arguments: args }, options)) as CallToolResult
    }

    readResource(uri: string, options?: RpcOptions): Promise<Result> {
      return this.request('resources/read', { uri }, options)
    }
  }
}
