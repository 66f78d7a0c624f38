import { WorkerEntrypoint } from 'cloudflare:workers'
import type { Scope } from '../protocol/changes.ts'
import type { Server, Updates } from '../server/server.ts'

export type Publisher = new (ctx: ExecutionContext, env: Cloudflare.Env) => WorkerEntrypoint & Updates

/**
 * An entrypoint by which other Workers announce changes, through a service binding.
 *
 * @example
 * export const McpPublisher = publisher(server)
 * // the other Worker, whose binding NOTES has the entrypoint "McpPublisher"
 * await env.NOTES.resource('note://1')
 */
export const publisher = ({ updates }: Server): Publisher =>
  class McpPublisher extends WorkerEntrypoint implements Updates {
    tools(scope?: Scope): Promise<void> {
      return updates.tools(scope)
    }
    prompts(scope?: Scope): Promise<void> {
      return updates.prompts(scope)
    }
    resources(scope?: Scope): Promise<void> {
      return updates.resources(scope)
    }
    resource(uri: string, scope?: Scope): Promise<void> {
      return updates.resource(uri, scope)
    }
  }
