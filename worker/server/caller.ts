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
  /**
   * That it can be enabled and disabled while the server runs, by the handle that declaring it returns, and how it begins.
   * Takes a server with `updates()` of `edgemcp/updates`, and one object request whenever it is listed or used.
   */
  initially?: 'enabled' | 'disabled'
}

/** Enables and disables, for everybody and on every isolate; everyone who listens hears that the list has changed. */
export interface Switch {
  enable(): Promise<void>
  /** It is not listed any more, and answered like something that does not exist. */
  disable(): Promise<void>
  /** The same as `disable`: what is declared can come back. */
  remove(): Promise<void>
}
