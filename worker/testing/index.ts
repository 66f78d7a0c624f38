/** edgemcp/testing: clients for tests, one for each revision of the protocol, and what such tests need besides. */
export { connect, type RequestOptions, type TestClient } from './client.ts'
export type { ConnectOptions, Token, Watched } from './connection.ts'
export { type FakeIssuer, fakeIssuer, type UserClaims } from './fake-issuer.ts'
export type { EvictOptions, Kept, ServerUnderTest } from './objects.ts'
export { type Recording, type RecordingOptions, recording } from './recording.ts'
export { RpcError } from './rpc-error.ts'
export type { Answers, UnusedAnswer } from './script.ts'
export type { InProcess, Target } from './wire.ts'

import { revisions } from '../protocol/revisions/index.ts'

/** The dates of every revision, newest first: `for (const revision of everyRevision)`. */
export const everyRevision: readonly string[] = revisions.map((revision) => revision.date)
