import type { Principal } from '../protocol/principal.ts'
import type { Awaitable } from './context.ts'

/** Who looks at a list, or calls something on it. */
export type Caller = {
  readonly principal: Principal | undefined
}

export type Visibility = {
  /**
   * Who may see and use this; everyone when left out. It decides by who asks, never by the connection. What it hides
   * is answered like something that does not exist.
   */
  enabled?: (caller: Caller) => Awaitable<boolean>
}
