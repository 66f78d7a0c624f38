/** edgemcp/sessions: Serve clients before 2026-07-28 with sessions: input requests, streams and replay. */
export type { ReplayLimits } from '../../../durable-objects/shared/event-log.ts'
export { type SessionClass, type SessionOptions, sessions } from './sessions.ts'
