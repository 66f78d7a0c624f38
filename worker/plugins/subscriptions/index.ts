/** edgemcp/subscriptions: change notifications for clients that subscribe. */
export type { UpdatesOptions } from '../../../durable-objects/subscriptions/object.ts'
export type { Recipients } from '../../protocol/changes.ts'
export { type PublishEntrypoint, publishEntrypoint } from './publish-entrypoint.ts'
export { subscriptions } from './updates.ts'
