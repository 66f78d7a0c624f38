import type { Principal } from '../protocol/principal.ts'

/** Decides who makes a request. */
export interface Auth {
  /** @throws McpError `unauthorized` when the request carries no credential that is good here */
  authenticate(request: Request): Promise<Principal>
}
