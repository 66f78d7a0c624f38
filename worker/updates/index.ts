/** edgemcp/updates: everyone who listens hears what changes. */
export type { UpdatesOptions } from '../../durable-objects/updates.ts'
export type { Recipients } from '../protocol/changes.ts'
export { type PublishEntrypoint, publishEntrypoint } from './publish-entrypoint.ts'
export { updates } from './updates.ts'
