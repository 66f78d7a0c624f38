import { WorkerEntrypoint } from 'cloudflare:workers'
import type { ChangeNotifier, Server } from '../../declarations/server.ts'
import type { Recipients, SessionRecipients, UserRecipients } from '../../protocol/changes.ts'
import type { LogLevel } from '../../protocol/types.ts'

/** Types an entrypoint with the methods of `server.notify`. */
export type PublishEntrypoint = new (ctx: ExecutionContext, env: Cloudflare.Env) => WorkerEntrypoint & ChangeNotifier

/**
 * Creates an entrypoint through which other Workers send change notifications and log messages, by a service binding.
 *
 * @see https://developers.cloudflare.com/workers/runtime-apis/bindings/service-bindings/rpc/
 *
 * @example
 * export const McpPublisher = publishEntrypoint(server)
 * // In the other Worker, whose binding NOTES has the entrypoint "McpPublisher":
 * await env.NOTES.resourceUpdated('note://1')
 */
export const publishEntrypoint = ({ notify }: Server): PublishEntrypoint =>
  class McpPublisher extends WorkerEntrypoint implements ChangeNotifier {
    toolsChanged(...recipients: [] | [Recipients]): Promise<void> {
      return notify.toolsChanged(...recipients)
    }
    promptsChanged(...recipients: [] | [Recipients]): Promise<void> {
      return notify.promptsChanged(...recipients)
    }
    resourcesChanged(...recipients: [] | [Recipients]): Promise<void> {
      return notify.resourcesChanged(...recipients)
    }
    resourceUpdated(uri: string, ...recipients: [] | [Recipients]): Promise<void> {
      return notify.resourceUpdated(uri, ...recipients)
    }
    log(
      level: LogLevel,
      data: unknown,
      recipients: UserRecipients | SessionRecipients,
      logger?: string,
    ): Promise<void> {
      return notify.log(level, data, recipients, logger)
    }
    elicitationComplete(elicitationId: string, recipients: SessionRecipients): Promise<void> {
      return notify.elicitationComplete(elicitationId, recipients)
    }
  }
