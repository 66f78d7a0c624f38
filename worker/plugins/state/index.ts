/** edgemcp/state: Store state for a session, a user, a tenant, or for a handle. */
export { State as McpState } from '../../../durable-objects/state/object.ts'
export type { HandleState, KeyedState } from '../../declarations/state.ts'
export type { Store } from '../../declarations/state-declaration.ts'
export {
  type HandleStateOptions,
  type KeyValue,
  type SessionStateOptions,
  type StateStub,
  state,
  type UserStateOptions,
} from './state.ts'
