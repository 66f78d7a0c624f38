/** edgemcp/testing: Test a server with a client for each protocol version, with tokens, transcripts and scripted input responses. */
export { connect, type RequestOptions, type TestClient } from '../client/client.ts'
export type { ConnectOptions, Subscription, Token } from '../client/connection.ts'
export { RpcError } from '../client/rpc-error.ts'
export type { Answers, UnusedAnswer } from '../client/script.ts'
export type { InProcessOptions, Target } from '../client/wire.ts'
export { type FakeIssuer, fakeIssuer, type UserClaims } from './fake-issuer.ts'
export type { DurableObjectRef, EvictOptions, ServerUnderTest } from './objects.ts'
export type { FakeProvider, ProviderAnswer, ProviderUser, SignInAsOptions } from './provider/fake-provider.ts'
export {
  type ReceivedChallenge,
  type ReceivedEvent,
  type ReceivedTermination,
  Receiver,
  type ReceiverAnswer,
  type ReceiverAnswers,
  type ReceiverOptions,
  startReceiver,
} from './receiver.ts'
export { type Transcript, type TranscriptOptions, transcript } from './transcript.ts'

import { revisions } from '../protocol/revisions/index.ts'

/**
 * Lists the dates of all protocol versions, newest first.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning
 */
export const everyRevision: readonly string[] = revisions.map((revision) => revision.date)
