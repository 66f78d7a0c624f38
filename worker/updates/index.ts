/** edgemcp/updates: everyone who listens hears what changes. */
export type { UpdatesOptions } from '../../durable-objects/updates.ts'
export type { Scope } from '../protocol/changes.ts'
export { type Publisher, publisher } from './publisher.ts'
export { updates } from './updates.ts'
