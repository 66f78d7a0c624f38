/** @see https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle */

import type { Caller } from '../../declarations/caller.ts'
import type { Declarations } from '../../declarations/declarations.ts'
import * as bounds from '../../protocol/bounds.ts'
import { McpError } from '../../protocol/errors.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import { isImplementation } from '../../protocol/meta.ts'
import { negotiateVersion } from '../../protocol/negotiate-version.ts'
import type { Revision } from '../../protocol/revision.ts'
import type { ClientCapabilities, Params, Result } from '../../protocol/types.ts'
import { utf8 } from '../../protocol/utf8.ts'
import { guardStep } from '../failure.ts'
import { capabilitiesOf, implementationOf, instructionsFor } from './discover.ts'
import type { InitializeMethod, NegotiatedSession, SessionFeatures } from './method.ts'

/** @throws McpError `invalid_envelope` for params that are invalid, or too large for the id of a session */
function negotiateSession(params: Params | undefined): NegotiatedSession {
  // Hosts in the wild leave capabilities out.
  const { protocolVersion, capabilities = {}, clientInfo } = params ?? {}
  if (typeof protocolVersion !== 'string') throw expected('protocolVersion', 'a string')
  if (!isObject(capabilities)) throw expected('capabilities', 'an object')
  if (!isImplementation(clientInfo)) throw expected('clientInfo', 'an object with name and version')
  // Only what is needed later: all of it travels in the session's id. The members are as the client sent them.
  const { elicitation, sampling, roots, extensions, tasks } = capabilities as ClientCapabilities
  const { name, version } = clientInfo
  const negotiated: NegotiatedSession = {
    version: negotiateVersion(protocolVersion).date,
    capabilities: { elicitation, sampling, roots, extensions, tasks },
    client: { name, version },
  }
  const { length } = utf8(JSON.stringify(negotiated))
  if (length > bounds.handshakeBytes) {
    throw new McpError(
      'invalid_envelope',
      `params.capabilities and params.clientInfo take ${length} bytes of the session id: this server accepts at most ${bounds.handshakeBytes}`,
    )
  }
  return negotiated
}

async function initializeResult(
  declarations: Declarations,
  revision: Revision,
  environment: SessionFeatures,
  caller: Caller,
): Promise<Result> {
  // A session stores the level that its client sets. Without sessions, no log messages are sent to clients of these versions.
  const { logging, ...others } = capabilitiesOf(declarations, environment)
  return {
    protocolVersion: revision.date,
    capabilities: {
      ...revision.server(environment.hasSessions ? { logging, ...others } : others),
      ...(await declarations.capabilities?.(revision, caller.principal, caller, declarations)),
    },
    serverInfo: revision.implementation(implementationOf(declarations)),
    instructions: await instructionsFor(declarations, caller),
  }
}

export const initialize: InitializeMethod = {
  requires: 'handshake',
  negotiate: negotiateSession,
  answer: (declarations, revision, environment, caller) =>
    guardInitialize(declarations, revision, caller, () =>
      initializeResult(declarations, revision, environment, caller),
    ),
}

/** Calls `onInitialize` of plugins. @param id of the session; `undefined` at an endpoint without sessions */
export async function notifyOfClient(
  declarations: Declarations,
  revision: Revision,
  caller: Caller,
  id: string | undefined,
): Promise<void> {
  const session = id === undefined ? undefined : { id }
  await guardInitialize(declarations, revision, caller, () =>
    declarations.hooks?.onInitialize?.({ ...caller, session }),
  )
}

/** @throws McpError for what the function of a declaration or a plugin throws */
function guardInitialize<R>(
  declarations: Declarations,
  revision: Revision,
  { principal, client, requestContext, request }: Caller,
  work: () => R | Promise<R>,
): Promise<R> {
  const step = { method: 'initialize', params: {}, revision, principal, client, requestContext, request }
  return guardStep(declarations, step, work)
}

const expected = (name: string, shape: string) => new McpError('invalid_envelope', `params.${name} must be ${shape}`)
