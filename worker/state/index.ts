/** edgemcp/state: what handlers remember, for a session, a user, a tenant, or whoever has a handle. */
export { State as McpState } from '../../durable-objects/state.ts'
export type { HandledState, ScopedState } from '../server/state.ts'
export type { Store } from './declaration.ts'
export {
  type Called,
  type HandledStateOptions,
  type KeyValue,
  type OwnStateOptions,
  type SessionStateOptions,
  state,
} from './state.ts'
