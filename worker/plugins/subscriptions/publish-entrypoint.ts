import { WorkerEntrypoint } from 'cloudflare:workers'
import type { Server, Updates } from '../../declarations/server.ts'
import type { Recipients } from '../../protocol/changes.ts'

export type PublishEntrypoint = new (ctx: ExecutionContext, env: Cloudflare.Env) => WorkerEntrypoint & Updates

/**
 * An entrypoint by which other Workers announce changes, through a service binding.
 *
 * @example
 * export const McpPublisher = publishEntrypoint(server)
 * // the other Worker, whose binding NOTES has the entrypoint "McpPublisher"
 * await env.NOTES.resource('note://1')
 */
export const publishEntrypoint = ({ updates }: Server): PublishEntrypoint =>
  class McpPublisher extends WorkerEntrypoint implements Updates {
    tools(scope?: Recipients): Promise<void> {
      return updates.tools(scope)
    }
    prompts(scope?: Recipients): Promise<void> {
      return updates.prompts(scope)
    }
    resources(scope?: Recipients): Promise<void> {
      return updates.resources(scope)
    }
    resource(uri: string, scope?: Recipients): Promise<void> {
      return updates.resource(uri, scope)
    }
  }
