/** Clients for tests: one for each revision of the protocol, with scripted answers. */
export { connect, type RequestOptions, type TestClient } from './client.ts'
export type { Answers, ConnectOptions, Watched } from './connection.ts'
export { RpcError } from './rpc-error.ts'
export type { Target } from './wire.ts'

import { revisions } from '../protocol/revisions/index.ts'

/** The dates of every revision, newest first: `for (const revision of everyRevision)`. */
export const everyRevision: readonly string[] = revisions.map((revision) => revision.date)
