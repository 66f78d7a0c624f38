/** edgemcp/testing: clients for tests, one for each revision of the protocol, and what such tests need besides. */
export { connect, type RequestOptions, type TestClient } from '../client/client.ts'
export type { ConnectOptions, Subscription, Token } from '../client/connection.ts'
export { RpcError } from '../client/rpc-error.ts'
export type { Answers, UnusedAnswer } from '../client/script.ts'
export type { InProcessOptions, Target } from '../client/wire.ts'
export { type FakeIssuer, fakeIssuer, type UserClaims } from './fake-issuer.ts'
export type { DurableObjectRef, EvictOptions, ServerUnderTest } from './objects.ts'
export { type Transcript, type TranscriptOptions, transcript } from './transcript.ts'

import { revisions } from '../protocol/revisions/index.ts'

/** The dates of every revision, newest first: `for (const revision of everyRevision)`. */
export const everyRevision: readonly string[] = revisions.map((revision) => revision.date)
